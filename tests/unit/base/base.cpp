// What base/ promises: ids, pauses, names, descriptors, tables of states.
#include <fcntl.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/did_you_mean.hpp"
#include "base/exit_code.hpp"
#include "base/state_grid.hpp"
#include "base/strong.hpp"
#include "base/unique_fd.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;

TEST_CASE("an Error reads as one line", "[base][error]") {
  const pgflow::Error error{.kind = "k", .message = "M.", .detail = "D.", .hint = "H."};
  CHECK(error.text() == "M. D. H.");
  CHECK(pgflow::Error{.kind = "k", .message = "M."}.text() == "M.");
}

TEST_CASE("random ids are version 4, distinct and read back", "[base][uuid]") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto id = pgflow::WorkerId::random();
    const std::string text = id.text();
    REQUIRE(text.size() == 36);
    CHECK(text[14] == '4');
    CHECK(std::string("89ab").find(text[19]) != std::string::npos);
    CHECK(pgflow::WorkerId::parse(text).value() == id);
    seen.insert(text);
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("time-ordered ids are version 7 and sort by time", "[base][uuid]") {
  const auto first = pgflow::RunId::time_ordered();
  const auto started = pgflow::WallClock::now();
  while (pgflow::WallClock::now() - started < 2ms) {
  }
  const auto second = pgflow::RunId::time_ordered();
  CHECK(first.text()[14] == '7');
  CHECK(first.text() < second.text());
}

TEST_CASE("what is not a UUID is refused by name", "[base][uuid]") {
  const std::string good = "7f3c0a1e-9b7d-4a54-8f0e-2d1c6b5a4e3f";
  CHECK(pgflow::RunId::parse("7F3C0A1E-9B7D-4A54-8F0E-2D1C6B5A4E3F")->text() == good);
  const auto bad = GENERATE_COPY(
      std::string(),
      good + "0",
      good.substr(1),
      "7f3c0a1e+9b7d-4a54-8f0e-2d1c6b5a4e3f",
      "7f3c0a1e-9b7d-4a54-8f0e-2d1c6b5a4e3g",
      "7f3c0a1e9b7d-4a54-8f0e-2d1c6b5a4e3f-"
  );
  const auto parsed = pgflow::RunId::parse(bad);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().kind == "invalid_uuid");
  CHECK_FALSE(parsed.error().hint.empty());
}

TEST_CASE("a concurrency below one or absurdly high is refused", "[base][strong]") {
  CHECK(pgflow::Concurrency::parse(1)->value() == 1);
  CHECK_FALSE(pgflow::Concurrency::parse(0));
  CHECK_FALSE(pgflow::Concurrency::parse(-1));
  CHECK_FALSE(pgflow::Concurrency::parse(10'001));
}

TEST_CASE("a pause doubles up to its cap and is drawn from the whole range", "[base][backoff]") {
  double drawn = 1.0;
  pgflow::Backoff backoff({.first = 250ms, .most = 30s}, [&] { return drawn; });
  const std::vector<std::chrono::milliseconds> ceilings = {
      250ms, 500ms, 1s, 2s, 4s, 8s, 16s, 30s, 30s
  };
  for (const auto ceiling : ceilings) CHECK(backoff.next() == ceiling);
  for (int i = 0; i < 100; ++i) CHECK(backoff.next() == 30s);
  backoff.reset();
  drawn = 0.5;
  CHECK(backoff.next() == 125ms);
  drawn = 0.0;
  CHECK(backoff.next() == 0ms);
}

TEST_CASE("a pause never undercuts its floor", "[base][backoff]") {
  pgflow::Backoff backoff({.first = 100ms, .most = 10s, .least = 50ms}, [] { return 0.0; });
  for (int i = 0; i < 10; ++i) CHECK(backoff.next() == 50ms);
}

TEST_CASE("a typo finds the name that was meant", "[base][did_you_mean]") {
  const std::vector<std::string> known = {"max_concurrent", "min_ready", "timeout", "retries"};
  CHECK(pgflow::did_you_mean("max_concurent", known) == "max_concurrent");
  CHECK(pgflow::did_you_mean("tiemout", known) == "timeout");
  CHECK(pgflow::did_you_mean("Timeout", known) == "timeout");
  CHECK(pgflow::did_you_mean("colour", known) == std::nullopt);
  CHECK(pgflow::did_you_mean_hint("retires", known) == "Did you mean \"retries\"?");
  CHECK(pgflow::did_you_mean_hint("xyz", known).empty());
}

TEST_CASE("a descriptor is closed once, by its last owner", "[base][unique_fd]") {
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) != -1; };
  int raw = -1;
  {
    pgflow::UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    raw = first.get();
    pgflow::UniqueFd second(std::move(first));
    CHECK_FALSE(first);
    CHECK(is_open(raw));
  }
  CHECK_FALSE(is_open(raw));
}

TEST_CASE("times are written in UTC with microseconds", "[base][clock]") {
  using namespace std::chrono;
  const sys_days day = year{2026} / 1 / 31;
  CHECK(pgflow::rfc3339(day + 12h + 5us) == "2026-01-31T12:00:00.000005Z");
  CHECK(
      pgflow::rfc3339(sys_days(year{1969} / 12 / 31) + 23h + 59min + 59s + 500ms) ==
      "1969-12-31T23:59:59.500000Z"
  );
}

TEST_CASE("durations are short for people", "[base][clock]") {
  CHECK(pgflow::human_duration(850ms) == "850ms");
  CHECK(pgflow::human_duration(4250ms) == "4.2s");
  CHECK(pgflow::human_duration(185s) == "3m05s");
  CHECK(pgflow::human_duration(127min) == "2h07m");
}

TEST_CASE("exit codes have names", "[base][exit_code]") {
  CHECK(pgflow::exit_code_name(78) == "config invalid or different from the database");
  CHECK(pgflow::exit_code_name(128 + 9) == "killed by a signal");
  CHECK(pgflow::exit_code_name(42) == "unknown");
}

namespace {

enum class Door { shut, open, gone, count_ };
enum class Push { push, pull, burn, count_ };
enum class Noise { none, creak };

constexpr auto door_grid() {
  using Grid = pgflow::StateGrid<Door, Push, Noise>;
  const auto go = Grid::go;
  const auto stay = Grid::stay;
  const auto bug = Grid::bug;
  // clang-format off
  return Grid{{{
      //            push                           pull                          burn
      /* shut */ {{ go(Door::open, Noise::creak),  stay({}),                     go(Door::gone, {}) }},
      /* open */ {{ stay({}),                      go(Door::shut, Noise::creak), go(Door::gone, {}) }},
      /* gone */ {{ bug(),                         bug(),                        stay({}) }},
  }}};
  // clang-format on
}
constexpr auto kDoor = door_grid();
static_assert(kDoor.is_complete());
static_assert(kDoor.is_final(Door::gone) && !kDoor.is_final(Door::shut));
static_assert(kDoor.reaches(Door::shut, Door::gone) && !kDoor.reaches(Door::gone, Door::open));
static_assert(!pgflow::StateGrid<Door, Push, Noise>{}.is_complete());

}  // namespace

TEST_CASE("a state grid answers what an event does in a state", "[base][state_grid]") {
  const auto& cell = kDoor.at(Door::shut, Push::push);
  CHECK(cell.kind == pgflow::CellKind::go);
  CHECK(cell.next == Door::open);
  CHECK(cell.action == Noise::creak);
  CHECK(kDoor.at(Door::gone, Push::push).kind == pgflow::CellKind::bug);
}
