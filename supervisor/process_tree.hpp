// What a dead worker leaves running: found through /proc, killed, reaped.
#pragma once

#include "base/strong.hpp"

namespace pgflow::supervisor {

// The process's start time as /proc counts it, which tells it from a later one with the same pid;
// 0: no such process.
unsigned long long process_start_time(int pid);

// SIGKILL to exactly the process that has this pid and this start time.
void kill_exactly(int pid, unsigned long long start_time);

// Sends SIGKILL to every process of the session `session` (0: none is known), and to every other
// one that carries PGFLOW_WORKER_ID=worker_id in its environment: a grandchild that made a session
// of its own. Returns how many were still alive; 0: nothing is left.
int kill_leftovers(int session, WorkerId worker_id);

// From now on a grandchild whose parent dies becomes our child instead of init's.
void become_subreaper();
// libuv reaps only what it spawned; this reaps the other children of this thread.
void reap_strangers();

}  // namespace pgflow::supervisor
