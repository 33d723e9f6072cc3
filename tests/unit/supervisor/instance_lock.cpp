#include "supervisor/instance_lock.hpp"

#include <unistd.h>

#include "support/catch.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::supervisor;

TEST_CASE(
    "a state folder has one supervisor, and the second learns its pid", "[supervisor][lock]"
) {
  const test::TemporaryFolder folder;
  auto first = lock_state_dir(folder.path() + "/state");
  REQUIRE(first);
  const auto second = lock_state_dir(folder.path() + "/state");
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == "locked");
  CHECK(second.error().detail == "Its pid is " + std::to_string(getpid()) + ".");
  first->reset();
  CHECK(lock_state_dir(folder.path() + "/state"));
}

TEST_CASE("a state folder that cannot be made is an error with a hint", "[supervisor][lock]") {
  const auto lock = lock_state_dir("/proc/no/such");
  REQUIRE_FALSE(lock);
  CHECK(lock.error().kind == "state_dir_unusable");
  CHECK_FALSE(lock.error().hint.empty());
}

TEST_CASE("a slot's owner is there until it is cleared", "[supervisor][lock]") {
  const test::TemporaryFolder folder;
  REQUIRE(lock_state_dir(folder.path()));
  const auto path = slot_lock_path(folder.path(), "f", "s", 1);
  CHECK_FALSE(read_slot_owner(path));
  auto lock = try_slot_lock(path);
  REQUIRE(lock);
  REQUIRE(*lock);
  CHECK_FALSE(*try_slot_lock(path));
  const SlotOwner owner{WorkerId::random(), 4711, 123'456'789'012};
  REQUIRE(write_slot_owner((*lock)->get(), {WorkerId::random(), 4'194'304, 9'999'999'999'999}));
  REQUIRE(write_slot_owner((*lock)->get(), owner));
  const auto read = read_slot_owner(path);
  REQUIRE(read);
  CHECK(read->worker_id == owner.worker_id);
  CHECK(read->pid == owner.pid);
  CHECK(read->start_time == owner.start_time);
  clear_slot_owner(path);
  CHECK_FALSE(read_slot_owner(path));
  (*lock)->reset();
  CHECK(*try_slot_lock(path));
}
