#include "settings/keys.hpp"

#include <cstdlib>
#include <fstream>

#include "json/value.hpp"
#include "settings/duration.hpp"
#include "settings/load.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::settings;

namespace {

const std::string kConfigFolder = PGFLOW_SOURCE_DIR "/config/";

// The value of the row's key, wherever the path's [] and * lead first.
bool stands_in(const json::Value& node, std::string_view path) {
  if (path.empty()) return true;
  const bool list = path.starts_with("[]");
  const auto end = list ? 2 : path.find_first_of(".[");
  const std::string_view name = path.substr(0, end);
  std::string_view rest = end == std::string_view::npos ? "" : path.substr(end);
  if (rest.starts_with(".")) rest.remove_prefix(1);
  for (const auto& item : node.items) {
    if (list && stands_in(item, rest)) return true;
  }
  for (const auto& member : node.members) {
    if ((name == "*" || name == member.name) && stands_in(member.value, rest)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the JSON Schema in config/ is the one of the rows", "[settings][golden]") {
  const std::string file = kConfigFolder + "pgflow.schema.json";
  const char* golden = std::getenv("PGFLOW_GOLDEN");
  if (golden != nullptr && std::string(golden) == "write")
    std::ofstream(file) << json_schema(config_format());
  CHECK(test::read_file(file) == json_schema(config_format()));
  CHECK(json::parse(json_schema(config_format())));
}

TEST_CASE("the example shows every key", "[settings]") {
  const auto example = json::parse(
      test::read_file(kConfigFolder + "pgflow.example.jsonc"),
      {.comments = true, .trailing_commas = true}
  );
  REQUIRE(example);
  for (const Key& key : config_format().keys) {
    CAPTURE(key.path);
    CHECK(stands_in(*example, key.path));
  }
}

TEST_CASE("the files in config/ have no problem but what this machine lacks", "[settings]") {
  unsetenv("DATABASE_URL");
  unsetenv("SLACK_WEBHOOK");
  unsetenv("PGFLOW_API_TOKEN");
  const auto [file, expected] = GENERATE(table<std::string, std::vector<std::string>>({
      {"pgflow.json", {"database.url", "flows[0].worker.command[0]"}},
      {"pgflow.example.jsonc",
       {"supervisor.health.token_env",
        "flows[0].worker.command[0]",
        "flows[0].worker.env.SLACK_WEBHOOK.from_env",
        "flows[1].worker.command[0]"}},
  }));
  const auto settings = load(kConfigFolder + file);
  REQUIRE_FALSE(settings);
  std::vector<std::string> paths;
  for (const auto& problem : settings.error().problems) paths.push_back(problem.path);
  CHECK(paths == expected);
}

TEST_CASE("every key is documented and its default is a right value", "[settings]") {
  for (const Key& key : config_format().keys) {
    CAPTURE(key.path);
    CHECK_FALSE(key.doc.empty());
    if (key.fallback.empty()) continue;
    if (key.kind == Kind::size) CHECK(parse_size(key.fallback));
    if (key.kind == Kind::duration) {
      REQUIRE(parse_duration(key.fallback));
      CHECK(static_cast<double>(parse_duration(key.fallback)->count()) >= key.minimum);
      CHECK(static_cast<double>(parse_duration(key.fallback)->count()) <= key.maximum);
    }
  }
}

TEST_CASE("a duration is a number with a unit", "[settings]") {
  using std::chrono::milliseconds;
  CHECK(parse_duration("250ms") == milliseconds(250));
  CHECK(parse_duration("25s") == milliseconds(25'000));
  CHECK(parse_duration("1.5m") == milliseconds(90'000));
  CHECK(parse_duration("0s") == milliseconds(0));
  CHECK(parse_duration("1h") == milliseconds(3'600'000));
  const auto bad = GENERATE(
      "", "5", "s", "-1s", "1 s", "1S", "1e3s", "nan s", "inf", "1sec", "99999999999999999h"
  );
  CAPTURE(bad);
  CHECK_FALSE(parse_duration(bad));
}

TEST_CASE("a size is a number with a unit, or zero", "[settings]") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("512MiB") == 536'870'912);
  CHECK(parse_size("1.5GiB") == 1'610'612'736);
  CHECK(parse_size("4KiB") == 4096);
  CHECK(parse_size("7B") == 7);
  const auto bad = GENERATE("", "5", "MiB", "-1B", "1 B", "1MB", "1mib", "1e3B", "infB", "nanB");
  CAPTURE(bad);
  CHECK_FALSE(parse_size(bad));
  CHECK(size_text(0) == "0");
  CHECK(size_text(1'073'741'824) == "1GiB");
  CHECK(size_text(1'048'577) == "1048577B");
}

TEST_CASE("a duration is printed in the largest unit that holds it exactly", "[settings]") {
  using std::chrono::milliseconds;
  CHECK(duration_text(milliseconds(0)) == "0s");
  CHECK(duration_text(milliseconds(1'500)) == "1500ms");
  CHECK(duration_text(milliseconds(90'000)) == "90s");
  CHECK(duration_text(milliseconds(7'200'000)) == "2h");
}
