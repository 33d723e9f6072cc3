#include "supervisor/release_journal.hpp"

#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::supervisor;

namespace {

struct Folder {
  test::TemporaryFolder folder;
  std::filesystem::path file = folder.path() + "/releases.jsonl";

  ReleaseJournal open() const {
    auto journal = ReleaseJournal::open(file);
    REQUIRE(journal);
    return std::move(*journal);
  }
  std::string text() const { return test::read_file(file); }
};

Release some(std::vector<MessageId> guilty = {}) {
  return {WorkerId::random(), "died of SIGSEGV, \"quoted\"\n", std::move(guilty)};
}

bool same(const Release& a, const Release& b) {
  return a.worker_id == b.worker_id && a.reason == b.reason && a.guilty == b.guilty;
}

}  // namespace

TEST_CASE("a release outlives the process that journaled it", "[supervisor][journal]") {
  const Folder folder;
  const Release first = some({MessageId(9'007'199'254'740'993)});
  const Release second = some();
  {
    auto journal = folder.open();
    REQUIRE(journal.add(first));
    REQUIRE(journal.add(second));
  }
  const auto journal = folder.open();
  REQUIRE(journal.pending().size() == 2);
  CHECK(same(journal.pending()[0], first));
  CHECK(same(journal.pending()[1], second));
}

TEST_CASE("a release that is done is not pending any more", "[supervisor][journal]") {
  const Folder folder;
  const Release first = some();
  const Release second = some();
  {
    auto journal = folder.open();
    REQUIRE(journal.add(first));
    REQUIRE(journal.add(second));
    journal.done(first.worker_id);
    CHECK(journal.pending().size() == 1);
  }
  const auto journal = folder.open();
  REQUIRE(journal.pending().size() == 1);
  CHECK(same(journal.pending()[0], second));
}

TEST_CASE("the file is empty when nothing is pending", "[supervisor][journal]") {
  const Folder folder;
  auto journal = folder.open();
  const Release release = some();
  REQUIRE(journal.add(release));
  CHECK_FALSE(folder.text().empty());
  journal.done(release.worker_id);
  CHECK(folder.text().empty());
}

TEST_CASE("a torn last line and rubbish are skipped", "[supervisor][journal]") {
  const Folder folder;
  const Release release = some();
  REQUIRE(folder.open().add(release));
  const std::string whole = folder.text();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(folder.file) << whole << "rubbish\n{}\n{\"release\": \"no uuid\"}\n"
                               << whole.substr(0, length);
    const auto journal = folder.open();
    CAPTURE(length);
    REQUIRE(journal.pending().size() == 1);
    CHECK(same(journal.pending()[0], release));
    CHECK(test::read_file(folder.file.string() + ".unreadable").starts_with(whole + "rubbish\n"));
  }
}

TEST_CASE("a journal in order leaves nothing aside", "[supervisor][journal]") {
  const Folder folder;
  REQUIRE(folder.open().add(some()));
  folder.open();
  CHECK_FALSE(std::filesystem::exists(folder.file.string() + ".unreadable"));
}

TEST_CASE("a worker is pending once, however often it is added", "[supervisor][journal]") {
  const Folder folder;
  Release release = some();
  auto journal = folder.open();
  REQUIRE(journal.add(release));
  release.reason = "again";
  REQUIRE(journal.add(release));
  REQUIRE(journal.pending().size() == 1);
  CHECK(journal.pending()[0].reason == "again");
  CHECK(folder.open().pending().size() == 1);
}

TEST_CASE("a postponed release goes behind the others", "[supervisor][journal]") {
  const Folder folder;
  const Release first = some();
  const Release second = some();
  auto journal = folder.open();
  REQUIRE(journal.add(first));
  REQUIRE(journal.add(second));
  journal.postpone(first.worker_id);
  CHECK(same(journal.pending()[0], second));
  CHECK(same(journal.pending()[1], first));
}

TEST_CASE(
    "the file does not grow for ever while one release stays pending", "[supervisor][journal]"
) {
  const Folder folder;
  auto journal = folder.open();
  REQUIRE(journal.add(some()));
  for (int i = 0; i < 3'000; ++i) {
    const Release passing = some();
    REQUIRE(journal.add(passing));
    journal.done(passing.worker_id);
  }
  CHECK(journal.pending().size() == 1);
  CHECK(folder.open().pending().size() == 1);
  CHECK(std::filesystem::file_size(folder.file) < 200'000);
}

TEST_CASE("a journal that cannot be written is an error with a hint", "[supervisor][journal]") {
  const auto journal = ReleaseJournal::open("/no/such/folder/releases.jsonl");
  REQUIRE_FALSE(journal);
  CHECK(journal.error().kind == "state_dir_unusable");
  CHECK_FALSE(journal.error().hint.empty());
}
