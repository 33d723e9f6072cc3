// One supervisor a state folder, one worker a slot: locks that the kernel frees when their holder
// dies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::supervisor {

// Makes the folder and takes state_dir/supervisor.lock for as long as the descriptor lives. Error
// kind "locked": another supervisor has it, and the detail says which pid.
Result<UniqueFd> lock_state_dir(const std::filesystem::path& state_dir);
// Whether who looks for the lock there finds this one: a folder that was moved away took it along.
bool is_found(const UniqueFd& lock, const std::filesystem::path& state_dir);

// state_dir/slots/<flow>.<step>.<n>.lock. Its content names the worker that holds it, so that a
// later supervisor knows whose tasks to give back once the lock is free.
std::filesystem::path slot_lock_path(
    const std::filesystem::path& state_dir,
    const std::string& flow_slug,
    const std::string& step_slug,
    int number
);

struct SlotOwner {
  WorkerId worker_id;
  int pid = 0;  // 0: not known
  // As /proc counts it: tells the process from a later one with the same pid.
  unsigned long long start_time = 0;
};

// Empty optional: somebody holds it.
Result<std::optional<UniqueFd>> try_slot_lock(const std::filesystem::path& path);
// Both in place, so that a disk that got full has room for the next owner, too.
Result<void> write_slot_owner(int lock_fd, const SlotOwner& owner);
void clear_slot_owner(const std::filesystem::path& path);
// Empty optional: the slot was left in order.
std::optional<SlotOwner> read_slot_owner(const std::filesystem::path& path);

}  // namespace pgflow::supervisor
