#include "supervisor/instance_lock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
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

TEST_CASE("a lock that was moved away is not found", "[supervisor][lock]") {
  const test::TemporaryFolder folder;
  const std::string state = folder.path() + "/state";
  const auto lock = lock_state_dir(state);
  REQUIRE(lock);
  CHECK(is_found(*lock, state));
  std::filesystem::rename(state, state + ".moved");
  CHECK_FALSE(is_found(*lock, state));
  REQUIRE(lock_state_dir(state));
  CHECK_FALSE(is_found(*lock, state));
  std::filesystem::remove_all(state);
  std::filesystem::rename(state + ".moved", state);
  CHECK(is_found(*lock, state));
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
  // A disk that is full by now has no room for a file that gave its own back.
  CHECK(std::filesystem::file_size(path) > 0);
  (*lock)->reset();
  CHECK(*try_slot_lock(path));
}

TEST_CASE("a slot changes its owner on a full disk", "[supervisor][lock]") {
  // A file that never grows is one on a disk without room.
  const UniqueFd memory(memfd_create("slot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  const SlotOwner first{WorkerId::random(), 4'194'304, 18'446'744'073'709'551'615ULL};
  const SlotOwner second{WorkerId::random(), 1, 1};
  REQUIRE(write_slot_owner(memory.get(), first));
  REQUIRE(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW) == 0);
  CHECK(read_slot_owner(path)->start_time == first.start_time);
  clear_slot_owner(path);
  CHECK_FALSE(read_slot_owner(path));
  REQUIRE(write_slot_owner(memory.get(), second));
  CHECK(read_slot_owner(path)->worker_id == second.worker_id);
}
