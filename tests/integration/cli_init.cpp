// `pgflow init`: what it makes, what it calls it, and what it leaves alone. That the projects build
// and run is shown by tests/package/init.sh.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli_support.hpp"

namespace fs = std::filesystem;
using namespace pgflow::test;

namespace {

Ended init_in(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "init");
  Command command = pgflow_command(arguments);
  command.arguments.insert(command.arguments.begin() + 1, "--chdir=" + folder);
  Process process(command);
  const auto exit_code = process.wait(20s);
  REQUIRE(exit_code);
  return {*exit_code, process.out(), process.err()};
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("init names the flow after the folder", "[cli][init]") {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"word-count", "wordCountV1"},
      {"word_count", "wordCountV1"},
      {"Two  words", "TwoWordsV1"},
      {"shopV2", "shopV2"},
      {"V", "VV1"},
      {"9lives", "flow9livesV1"},
      {"größe", "greV1"},
      {"日本", "flowV1"},
      {"__x__", "xV1"},
      {"run", "runV1"},
      {"-x", "xV1"},
      {std::string(200, 'a'), std::string(100, 'a') + "V1"},
  };
  TemporaryFolder parent;
  for (const auto& [folder, slug] : names) {
    const Ended made = init_in(parent.path(), {"--lang", "shell", "--", folder});
    INFO(folder << "\n" << made.err);
    CHECK(made.exit_code == 0);
    const std::string project = parent.path() + "/" + folder;
    CHECK(contains(read_file(project + "/flow.json"), "\"slug\": \"" + slug + "\""));
    CHECK(contains(read_file(project + "/pgflow.json"), "\"slug\": \"" + slug + "\""));
    CHECK(contains(made.out, "pgflow run start " + slug + " --input"));
    CHECK(run_pgflow({"config", "check", project + "/pgflow.json"}).exit_code == 0);
  }
}

TEST_CASE("init makes the files of the language, and its scripts can be run", "[cli][init]") {
  TemporaryFolder parent;
  CHECK(init_in(parent.path(), {"a/b/c"}).exit_code == 0);
  CHECK(
      files_of(parent.path() + "/a/b/c") ==
      std::vector<std::string>{
          ".gitignore",
          "CMakeLists.txt",
          "README.md",
          "flow.hpp",
          "flow_test.cpp",
          "main.cpp",
          "pgflow.json"
      }
  );
  CHECK(init_in(parent.path(), {"p", "--lang", "python"}).exit_code == 0);
  CHECK(
      read_file(parent.path() + "/p/pgflow_step.py") ==
      read_file(PGFLOW_SOURCE_DIR "/examples/helpers/python/pgflow_step.py")
  );
  CHECK(init_in(parent.path(), {"s", "--lang", "shell"}).exit_code == 0);
  const auto mode = fs::status(parent.path() + "/s/greet.sh").permissions();
  CHECK((mode & fs::perms::owner_exec) != fs::perms::none);
  CHECK(
      (fs::status(parent.path() + "/s/flow.json").permissions() & fs::perms::owner_exec) ==
      fs::perms::none
  );
}

TEST_CASE("init fills a folder that holds other files, and says where to go next", "[cli][init]") {
  TemporaryFolder parent;
  std::ofstream(parent.path() + "/notes.txt") << "mine";
  const Ended here = init_in(parent.path(), {"--lang", "python"});
  CHECK(here.exit_code == 0);
  CHECK_FALSE(contains(here.out, "  cd "));
  CHECK(read_file(parent.path() + "/notes.txt") == "mine");

  const Ended there = init_in(parent.path(), {"it's new"});
  CHECK(there.exit_code == 0);
  CHECK(contains(there.out, "  cd 'it'\\''s new'\n  cmake -B build && cmake --build build\n"));
}

TEST_CASE("init overwrites nothing, and names every file in the way", "[cli][init]") {
  TemporaryFolder parent;
  std::ofstream(parent.path() + "/README.md") << "mine";
  fs::create_symlink("/nonexistent", parent.path() + "/steps.py");
  const auto before = files_of(parent.path());
  const Ended refused = init_in(parent.path(), {".", "--lang", "python"});
  CHECK(refused.exit_code == 73);
  CHECK(refused.out.empty());
  CHECK(
      refused.err ==
      "error: . has files of a new project's names: README.md, steps.py\n"
      "detail: nothing was written\n"
      "hint: name a new folder, or move them away\n"
  );
  CHECK(files_of(parent.path()) == before);
  CHECK(read_file(parent.path() + "/README.md") == "mine");
}

TEST_CASE("init says why there can be no project", "[cli][init]") {
  TemporaryFolder parent;
  std::ofstream(parent.path() + "/file") << "";
  const Ended file = init_in(parent.path(), {"file"});
  CHECK(file.exit_code == 73);
  CHECK(contains(file.err, "error: file is no folder\n"));

  const Ended below = init_in(parent.path(), {"file/project"});
  CHECK(below.exit_code == 71);
  CHECK(contains(below.err, "error: cannot make the folder file/project\ndetail: Not a directory"));

  const Ended lang = init_in(parent.path(), {"project", "--lang", "perl"});
  CHECK(lang.exit_code == 64);
  CHECK(contains(lang.err, "must be one of cpp, python, shell, got \"perl\""));
  CHECK_FALSE(fs::exists(parent.path() + "/project"));
}
