// What a dead worker leaves running: found through /proc, killed, reaped.
#pragma once

#include <span>
#include <vector>

#include "base/strong.hpp"

namespace pgflow::supervisor {

// The process's start time as /proc counts it, which tells it from a later one with the same pid;
// 0: no such process.
unsigned long long process_start_time(int pid);

// SIGKILL to exactly the process that has this pid and this start time.
void kill_exactly(int pid, unsigned long long start_time);

// What a worker may have left: the processes of its session (0: none is known), and every other one
// that carries PGFLOW_WORKER_ID=worker_id in its environment, a grandchild that made a session of
// its own.
struct Remains {
  int session = 0;
  WorkerId worker_id;
};

// Sends SIGKILL to all of it, in one look at the machine's processes. Returns for each how many
// were still alive; 0: nothing is left.
std::vector<int> kill_leftovers(std::span<const Remains> dead);

// From now on a grandchild whose parent dies becomes our child instead of init's.
void become_subreaper();
// libuv reaps only what it spawned; this reaps the other children of this thread.
void reap_strangers();

}  // namespace pgflow::supervisor
