// What log/ promises: one event is one line, in three formats, whatever the values hold.
#include "log/log.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/unique_fd.hpp"
#include "support/catch.hpp"

using pgflow::log::Field;
using pgflow::log::Format;
using pgflow::log::Level;
namespace events = pgflow::log;

namespace {

std::string line(std::initializer_list<Field> fields, Format format) {
  using namespace std::chrono;
  return events::render(
      {.time = sys_days(year{2026} / 1 / 31),
       .level = Level::warn,
       .component = "worker",
       .pid = 7,
       .event = "task.failed",
       .fields = {fields.begin(), fields.size()}},
      format
  );
}

// What `act` writes to standard error.
template <class F>
std::string standard_error_of(F act) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pgflow::UniqueFd read_end(ends[0]);
  {
    const pgflow::UniqueFd write_end(ends[1]), saved(::dup(STDERR_FILENO));
    ::dup2(write_end.get(), STDERR_FILENO);
    act();
    ::dup2(saved.get(), STDERR_FILENO);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(read_end.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

TEST_CASE("a JSON line is one object with typed values", "[log]") {
  const auto run = pgflow::RunId::parse("7f3c0a1e-9b7d-4a54-8f0e-2d1c6b5a4e3f").value();
  const std::string text = line(
      {{"attempt", 2},
       {"msg_id", pgflow::MessageId(9007199254740993)},
       {"ok", false},
       {"run_id", run},
       {"load", 0.5}},
      Format::json
  );
  CHECK(
      text ==
      R"({"ts":"2026-01-31T00:00:00.000000Z","level":"warn","component":"worker","pid":7,"event":"task.failed",)"
      R"("attempt":2,"msg_id":"9007199254740993","ok":false,"run_id":"7f3c0a1e-9b7d-4a54-8f0e-2d1c6b5a4e3f","load":0.5})"
  );
}

TEST_CASE("a simple line is key=value and quotes what is not one word", "[log]") {
  const std::string text =
      line({{"step", "classify"}, {"error", "no \"luck\" today"}, {"empty", ""}}, Format::simple);
  CHECK(
      text ==
      "2026-01-31T00:00:00.000000Z level=warn component=worker event=task.failed step=classify "
      "error=\"no \\\"luck\\\" today\" empty=\"\""
  );
}

TEST_CASE("a value cannot forge a line, a field or a terminal command", "[log]") {
  const auto format = GENERATE(Format::fancy, Format::simple, Format::json);
  const std::string evil =
      "x\n2026 level=info event=forged \r\x1b[2J\x07\x7f\xc2\x9b"
      "1m \xff\xc0\xaf";
  const std::string text = line({{"error", evil}}, format);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK(text.find('\x7f') == std::string::npos);
  CHECK(text.find("\xc2\x9b") == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
  CHECK(text.find("\\n2026 level=info") != std::string::npos);
  CHECK(text.find("\xEF\xBF\xBD") != std::string::npos);
}

TEST_CASE("text in other scripts stays readable", "[log]") {
  CHECK(line({{"name", "Žluťoučký 🐎"}}, Format::json).find("Žluťoučký 🐎") != std::string::npos);
}

TEST_CASE("a huge value is cut", "[log]") {
  CHECK(line({{"error", std::string(1'000'000, 'x')}}, Format::json).size() < 10'000);
}

TEST_CASE("numbers that JSON cannot hold become null", "[log]") {
  CHECK(
      line({{"x", std::numeric_limits<double>::infinity()}}, Format::json).find("\"x\":null") !=
      std::string::npos
  );
}

TEST_CASE("lines below the level are dropped, and the level moves while running", "[log]") {
  events::init(
      {.level = Level::warn,
       .format = Format::json,
       .component = "test",
       .context = {{"worker_id", "w1"}}}
  );
  const std::string text = standard_error_of([] {
    events::info("quiet");
    events::warn("heard", {{"n", 1}});
    events::set_level(Level::debug);
    events::debug("now_heard");
  });
  CHECK(events::enabled(Level::debug));
  CHECK(text.find("quiet") == std::string::npos);
  CHECK(text.find("\"event\":\"heard\",\"worker_id\":\"w1\",\"n\":1}\n") != std::string::npos);
  CHECK(text.find("now_heard") != std::string::npos);
}

TEST_CASE("a line's own word stands in place of the process's, never beside it", "[log]") {
  for (const Format format : {Format::json, Format::simple}) {
    events::init(
        {.format = format, .component = "test", .context = {{"flow", "f"}, {"step", "process"}}}
    );
    const std::string text = standard_error_of([] { events::info("said", {{"step", "own"}}); });
    INFO(text);
    CHECK(text.find("own") != std::string::npos);
    CHECK(text.find("flow") != std::string::npos);
    CHECK(text.find("process") == std::string::npos);
  }
}

TEST_CASE("an Error is logged in its parts", "[log]") {
  events::init({.format = Format::simple, .component = "test"});
  const pgflow::Error lost{
      .kind = "connection_lost",
      .message = "Lost.",
      .detail = "Why.",
      .hint = "Wait.",
      .sqlstate = "57P01"
  };
  const std::string text =
      standard_error_of([&] { events::warn("db.lost", lost, {{"queue", "q"}}); });
  CHECK(
      text.find("event=db.lost queue=q error=Lost. error_kind=connection_lost error_detail=Why. "
                "error_hint=Wait. sqlstate=57P01\n") != std::string::npos
  );
}

TEST_CASE("a line that another process of ours has logged is known by its form", "[log]") {
  for (const Format format : {Format::fancy, Format::simple, Format::json}) {
    CHECK(events::is_rendered(line({{"error", "no \x1b[31m\n\"quotes\""}}, format)));
  }
  const events::Line coloured{
      .time = {}, .level = Level::error, .component = "worker", .event = "task.failed"
  };
  CHECK(events::is_rendered(events::render(coloured, Format::fancy, true)));
  for (const char* other :
       {"",
        "Segmentation fault",
        "12:00 info  a",
        "12:00:00 hello",
        "{\"ts\":\"now\"",
        "{\"other\":1}",
        "12:00:00 info  worker a\x1b[2J",
        "12:00:00 info  worker a\a",
        "2026-01-31T00:00:00Z level=info"}) {
    CAPTURE(other);
    CHECK_FALSE(events::is_rendered(other));
  }
}

TEST_CASE("what a program printed drives no terminal", "[log]") {
  CHECK(events::harmless("\x1b[1;31mred\x1b[0m and plain") == "red and plain");
  CHECK(events::harmless("a\tb é") == "a\tb é");
  CHECK(events::harmless("\x1b[2J\xff\r") == "\uFFFD[2J\uFFFD\uFFFD");
}

TEST_CASE("a forwarded line stays as it is, whatever the level", "[log]") {
  const std::string text = standard_error_of([] {
    events::init({.level = Level::error});
    events::forward("anything at all");
  });
  events::init({});
  CHECK(text == "anything at all\n");
}

TEST_CASE("a line for which the reader is gone brings no SIGPIPE", "[log]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  pgflow::UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pgflow::UniqueFd saved(::dup(STDERR_FILENO));
  ::dup2(write_end.get(), STDERR_FILENO);
  read_end.reset();
  const auto before = ::signal(SIGPIPE, SIG_DFL);
  events::info("unheard");
  ::signal(SIGPIPE, before);
  ::dup2(saved.get(), STDERR_FILENO);
  SUCCEED("it lives");
}

TEST_CASE("levels and formats are read by name, others are refused with a hint", "[log]") {
  CHECK(events::parse_level("verbose").value() == Level::debug);
  CHECK(events::parse_level("error").value() == Level::error);
  CHECK(events::parse_level("loud").error().hint == "Use debug, info, warn or error.");
  CHECK(events::parse_format("json").value() == Format::json);
  CHECK_FALSE(events::parse_format("xml"));
}

TEST_CASE("a reader that does not read holds up nobody, and is told what it missed", "[log]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pgflow::UniqueFd read_end(ends[0]), write_end(ends[1]), saved(::dup(STDERR_FILENO));
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const auto read_all = [&] {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(read_end.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  };
  const auto lines_in = [](const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  };

  ::dup2(write_end.get(), STDERR_FILENO);
  constexpr int kWritten = 2'000;  // of 100 bytes and more: a pipe holds 64 KiB
  const std::string padding(100, 'x');
  for (int i = 0; i < kWritten; ++i) events::info("flood", {{"padding", padding}});
  const std::string before = read_all();
  events::info("last");
  const std::string after = read_all();
  ::dup2(saved.get(), STDERR_FILENO);

  const int arrived = lines_in(before);
  CHECK(arrived < kWritten);
  CHECK(before.size() >= 60'000);
  CHECK(lines_in(after) == 2 + (before.ends_with('\n') ? 0 : 1));
  CHECK_THAT(
      after, Catch::Contains("event=log.left_out lines=" + std::to_string(kWritten - arrived))
  );
  CHECK(events::lines_left_out() == static_cast<std::uint64_t>(kWritten - arrived));
  CHECK_THAT(after, Catch::Contains("event=last"));
}
