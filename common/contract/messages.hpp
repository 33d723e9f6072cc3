// The messages between a supervisor and its worker, typed, and their form as one JSON object a
// packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace pgflow::contract {

// The socket is SOCK_SEQPACKET: one message a packet, whole or not at all.
inline constexpr std::size_t kMaxPacketBytes = 64 * 1024;

// --- worker to supervisor

// First message, once. The supervisor kills a worker that says it twice or names another worker id.
struct Hello {
  int pid = 0;
  std::string worker_id;
  std::string flow_slug;
  std::string step_slug;  // empty: the worker serves the whole flow (queue mode "flow")
  bool operator==(const Hello&) const = default;
};
// Registered, routes verified, polling.
struct Ready {
  std::string queue_name;
  bool operator==(const Ready&) const = default;
};
// Every second. `loop_seq` is counted by the loop that polls and settles, never by a handler: it
// must move within the watchdog time, else the worker is killed. `heartbeat_seq` is counted by the
// heartbeats to the database, whether they are answered or fail: when it stands still, the worker
// is replaced. `concurrency` is the limit that the worker has now; another one than ordered means
// that the order was lost.
struct Ping {
  std::uint64_t loop_seq = 0;
  std::uint64_t heartbeat_seq = 0;
  int in_flight = 0;
  int concurrency = 0;
  std::int64_t rss_bytes = 0;
  bool operator==(const Ping&) const = default;
};
// After an outcome of some tasks is committed. What runs is not told but stands on the board.
struct TasksEnded {
  static constexpr std::size_t kMost = 1'000;  // in one packet
  std::string outcome;  // completed | failed | released | …: for people and counters only
  std::vector<std::int64_t> milliseconds;  // of each
  bool operator==(const TasksEnded&) const = default;
};
// A handler ignored its deadline and its stop token. The worker claims no more, fails that attempt,
// and exits 82.
struct Stuck {
  std::int64_t msg_id = 0;
  std::string run_id;
  int task_index = 0;
  std::int64_t over_milliseconds = 0;  // since the deadline
  bool operator==(const Stuck&) const = default;
};
// There may be new work in this queue: wake its workers.
struct Work {
  std::string queue_name;
  bool operator==(const Work&) const = default;
};
struct DatabaseState {
  bool up = false;
  bool operator==(const DatabaseState&) const = default;
};
// The worker has lost the database and wants to connect again: a permission answers, in its turn.
struct DatabaseWant {
  bool operator==(const DatabaseWant&) const = default;
};
struct Drained {
  bool clean = false;  // false: the deadline cut handlers off
  int released = 0;    // tasks given back
  bool operator==(const Drained&) const = default;
};
// Somebody else than the supervisor has sent a signal: the worker drains, and is to be replaced.
struct ExternalTerm {
  int signal = 0;
  bool operator==(const ExternalTerm&) const = default;
};
// Precedes an exit with an error: the reason that the operator reads.
struct Fatal {
  std::string code;
  std::string message;
  std::string detail;
  std::string hint;
  bool operator==(const Fatal&) const = default;
};

// --- supervisor to worker

// The answer to Hello; a worker connects to its database only after it.
struct Welcome {
  std::string generation;  // one supervisor start
  int concurrency = 1;
  bool operator==(const Welcome&) const = default;
};
struct SetLimits {
  int concurrency = 1;
  bool operator==(const SetLimits&) const = default;
};
// There may be work in your queue: look now.
struct Wake {
  bool operator==(const Wake&) const = default;
};
// Connect to the database now: it is there, and not everybody comes at once.
struct DatabasePermit {
  bool operator==(const DatabasePermit&) const = default;
};
struct Drain {
  std::optional<std::int64_t> deadline_milliseconds;  // none: each task ends by its own time-out
  std::string reason;
  bool operator==(const Drain&) const = default;
};

// A type that this version does not know: ignored and counted, never an error.
struct Unknown {
  std::string type;
  bool operator==(const Unknown&) const = default;
};

using FromWorker = std::variant<
    Hello,
    Ready,
    Ping,
    TasksEnded,
    Stuck,
    Work,
    DatabaseState,
    DatabaseWant,
    Drained,
    ExternalTerm,
    Fatal,
    Unknown>;
using FromSupervisor = std::variant<Welcome, SetLimits, Wake, DatabasePermit, Drain, Unknown>;

// Texts too long for a packet (Fatal's) are cut at a character, so the result always fits.
std::string encode(const FromWorker& message);
std::string encode(const FromSupervisor& message);

// Errors name what is wrong with the packet; unknown keys are ignored.
Result<FromWorker> decode_from_worker(std::string_view packet);
Result<FromSupervisor> decode_from_supervisor(std::string_view packet);

}  // namespace pgflow::contract
