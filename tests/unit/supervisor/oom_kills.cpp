#include "supervisor/oom_kills.hpp"

#include <fstream>

#include "support/catch.hpp"
#include "support/process.hpp"

using pgflow::supervisor::OomKills;

namespace {

// memory.events as the kernel writes it.
class Events {
 public:
  explicit Events(int kills) { set(kills); }
  void set(int kills) const {
    std::ofstream(path()) << "low 0\nhigh 12\nmax 3\noom 4\noom_kill " << kills
                          << "\noom_group_kill 0\n";
  }
  std::string path() const { return folder_.path() + "/memory.events"; }

 private:
  pgflow::test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("each kill of the kernel explains one death", "[supervisor][oom]") {
  const Events events(7);
  OomKills kills(events.path());
  CHECK_FALSE(kills.claim());
  events.set(9);
  CHECK(kills.claim());
  CHECK(kills.claim());
  CHECK_FALSE(kills.claim());
}

TEST_CASE("a kill that was no worker's explains no later death", "[supervisor][oom]") {
  const Events events(0);
  OomKills kills(events.path());
  events.set(1);
  kills.tick();  // its death may be heard of a little later
  SECTION("heard of in time") {
    CHECK(kills.claim());
  }
  SECTION("never heard of") {
    kills.tick();
    CHECK_FALSE(kills.claim());
  }
}

TEST_CASE("where the kernel counts nothing, no kill is its", "[supervisor][oom]") {
  OomKills kills("/no/such/file");
  kills.tick();
  CHECK_FALSE(kills.claim());
}
