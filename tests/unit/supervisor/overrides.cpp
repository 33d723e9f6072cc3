#include "supervisor/overrides.hpp"

#include <sys/stat.h>

#include <fstream>

#include "support/catch.hpp"
#include "support/process.hpp"

using namespace std::chrono_literals;
using namespace pgflow;
using namespace pgflow::supervisor;

TEST_CASE("overrides outlive their supervisor", "[supervisor][overrides]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() + "/overrides.json";
  const Overrides overrides{
      {"flow/a", {.processes = 0, .max_concurrent = 7, .until = WallClock::time_point(12'345ms)}},
      {"flow/b", {.paused = "a \"quoted\" reason"}},
      {"other", {.processes = 3}},
  };
  REQUIRE(save_overrides(file, overrides));
  const auto read = load_overrides(file);
  REQUIRE(read);
  CHECK(*read == overrides);
}

TEST_CASE("no file is no override", "[supervisor][overrides]") {
  const test::TemporaryFolder folder;
  const auto read = load_overrides(folder.path() + "/overrides.json");
  REQUIRE(read);
  CHECK(read->empty());
}

TEST_CASE("a file that cannot be read is refused with the way out", "[supervisor][overrides]") {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() + "/overrides.json";
  const std::string text = GENERATE(
      "",
      "{",
      "[]",
      "null",
      R"({"version": 1})",
      R"({"version": 2, "pools": {}})",
      R"({"version": 1, "pools": []})",
      R"({"version": 1, "pools": {"f/a": {"processes": -5}}})",
      R"({"version": 1, "pools": {"f/a": {"processes": 1001}}})",
      R"({"version": 1, "pools": {"f/a": {"processes": "x"}}})",
      R"({"version": 1, "pools": {"f/a": {"max_concurrent": 0}}})",
      R"({"version": 1, "pools": {"f/a": {"until_ms": 1e300}}})",
      R"({"version": 1, "pools": {"f/a": {"paused": 7}}})",
      R"({"version": 1, "pools": {"f/a": 7}})"
  );
  CAPTURE(text);
  std::ofstream(file) << text;
  const auto read = load_overrides(file);
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "Cannot read " + file + ".");
  CHECK_FALSE(read.error().hint.empty());
}

TEST_CASE("a full disk leaves the overrides as they were", "[supervisor][overrides]") {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() + "/overrides.json";
  REQUIRE(save_overrides(file, {{"flow/a", {.processes = 1}}}));
  // /dev/full takes nothing.
  std::filesystem::create_symlink("/dev/full", file + ".new");
  const auto saved = save_overrides(file, {{"flow/a", {.processes = 2}}});
  REQUIRE_FALSE(saved);
  CHECK(saved.error().detail == "No space left on device");
  CHECK(load_overrides(file)->at("flow/a").processes == 1);
}
