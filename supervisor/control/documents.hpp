// What the control room says in JSON: one type a document, the same for the socket, TCP and the
// program pgflow.
#pragma once

#include <cstdint>
#include <optional>
#include <pgflow/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/snapshot.hpp"

namespace pgflow::supervisor {

struct ExitDocument {
  std::string time;
  std::string flow;
  std::optional<std::string> step{};
  int slot = 0;
  std::string worker_id;
  int pid = 0;
  std::optional<int> code{};            // it ended by itself
  std::optional<std::string> signal{};  // "SIGKILL"
  std::string reason;                   // a stable word
  std::string text;                     // for people
  int in_flight = 0;
  std::int64_t rss_bytes = 0;
  double uptime_seconds = 0;
  std::vector<std::string> last_output{};  // of one that did not end by order
};

struct SlotDocument {
  int slot = 0;
  std::string state;  // down, backoff, queued, starting, ready, draining, killing, failed
  bool wanted = false;
  std::optional<std::string> worker_id{};
  std::optional<int> pid{};
  int in_flight = 0;
  std::int64_t rss_bytes = 0;
  std::int64_t tasks_done = 0;
  double uptime_seconds = 0;
  std::optional<double> next_start_seconds{};
  int crashes = 0;
  std::optional<ExitDocument> last_exit{};
};

struct PoolDocument {
  std::string flow;
  std::optional<std::string> step{};  // absent in queue mode "flow"
  std::string queue;
  std::string state;  // active, crashlooping, zero, paused, fenced, failed
  std::optional<std::string> reason{};
  int processes = 0;
  int max_concurrent = 0;
  int file_processes = 0;
  int file_max_concurrent = 0;
  bool overridden = false;
  std::optional<double> override_ends_seconds{};
  int ready = 0;  // slots whose worker polls
  int busy = 0;   // tasks in hand
  std::vector<SlotDocument> slots{};
};

struct FlowDocument {
  std::string flow;
  std::string queue_mode;
  std::string compiled;
  int queues = 0;
};

struct FenceDocument {
  std::string fence_id;
  std::vector<std::string> functions{};
  std::string owner;
  std::string reason;
};

struct DatabaseDocument {
  bool up = false;
  std::optional<std::string> error{};
  double for_seconds = 0;
  std::optional<std::string> version{};  // "15.4"
};

struct StatusDocument {
  std::string name;
  std::string generation;
  int pid = 0;
  std::string config;
  double uptime_seconds = 0;
  std::string phase;  // starting, running, stopping, stopped
  bool was_ready = false;
  DatabaseDocument database;
  int pending_releases = 0;
  std::vector<FlowDocument> flows{};
  std::vector<PoolDocument> pools{};
  std::vector<FenceDocument> fences{};
  std::vector<ExitDocument> exits{};  // the newest first
};

struct ExitsDocument {
  std::vector<ExitDocument> exits{};
};

// The answer to an order: the pools that it is about, as they are now.
struct OrderDocument {
  std::string phase;
  std::vector<PoolDocument> pools{};
};

struct EventDocument {
  std::int64_t id = 0;  // grows by one
  std::string time;
  std::string event;  // phase, database, releases, pool, slot, exit
  Json data;
};

struct EventsDocument {
  std::vector<EventDocument> events{};  // the oldest first
};

struct LogLineDocument {
  std::int64_t id = 0;  // grows by one
  std::string time;
  std::string flow;
  std::optional<std::string> step{};
  int slot = 0;
  std::string worker_id;
  std::string text;
};

struct LogsDocument {
  std::vector<LogLineDocument> lines{};  // the oldest first
};

// One wrong place of a request's body.
struct WrongPlace {
  std::string pointer;  // RFC 6901
  std::string detail;
  std::optional<std::string> hint{};
};

// RFC 9457.
struct ProblemDocument {
  std::string type;  // "urn:pgflow:pool_unknown"
  std::string title;
  int status = 0;
  std::optional<std::string> detail{};
  std::optional<std::string> hint{};
  std::vector<WrongPlace> errors{};
};

// Whatever bytes a program said, as text that JSON can hold.
std::string plain(std::string_view text);

ExitDocument document_of(const ExitView& exit);
PoolDocument document_of(const PoolView& pool);
LogLineDocument document_of(WorkerLine line);  // without its id
StatusDocument document_of(const Snapshot& snapshot);

}  // namespace pgflow::supervisor
