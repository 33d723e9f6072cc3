#include "supervisor/control/documents.hpp"

#include <fmt/format.h>
#include <string.h>

#include "base/utf8.hpp"

namespace pgflow::supervisor {
namespace {

double seconds(std::chrono::milliseconds duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

std::optional<std::string> unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return plain(text);
}

std::optional<std::string> version_text(int number) {
  if (number == 0) return std::nullopt;
  return fmt::format("{}.{}", number / 10'000, number % 10'000);
}

SlotDocument document_of(const SlotView& slot) {
  SlotDocument out{
      .slot = slot.number,
      .state = std::string(to_string(slot.state)),
      .wanted = slot.wanted_up,
      .worker_id = unless_empty(slot.worker_id),
      .in_flight = slot.in_flight,
      .rss_bytes = slot.rss_bytes,
      .tasks_done = slot.tasks_done,
      .uptime_seconds = seconds(slot.uptime),
      .crashes = slot.crashes,
  };
  if (slot.pid != 0) out.pid = slot.pid;
  if (slot.state == SlotState::backoff) out.next_start_seconds = seconds(slot.next_start_in);
  if (slot.last_exit) out.last_exit = supervisor::document_of(*slot.last_exit);
  return out;
}

}  // namespace

std::string plain(std::string_view text) {
  std::string clean = valid_utf8(text);
  std::erase(clean, '\0');
  return clean;
}

ExitDocument document_of(const ExitView& exit) {
  ExitDocument out{
      .time = rfc3339(exit.time),
      .flow = exit.flow_slug,
      .step = unless_empty(exit.step_slug),
      .slot = exit.slot,
      .worker_id = exit.worker_id,
      .pid = exit.pid,
      .reason = plain(exit.reason),
      .text = plain(exit.text),
      .in_flight = exit.in_flight,
      .rss_bytes = exit.rss_bytes,
      .uptime_seconds = seconds(exit.uptime),
      .last_output = exit.last_output,
  };
  if (exit.signal == 0) {
    out.code = exit.code;
  } else {
    const char* name = sigabbrev_np(exit.signal);
    out.signal = name != nullptr ? fmt::format("SIG{}", name) : fmt::format("{}", exit.signal);
  }
  return out;
}

PoolDocument document_of(const PoolView& pool) {
  PoolDocument out{
      .flow = pool.flow_slug,
      .step = unless_empty(pool.step_slug),
      .queue = pool.queue_name,
      .state = std::string(to_string(pool.state)),
      .reason = unless_empty(pool.reason),
      .processes = pool.processes,
      .max_concurrent = pool.max_concurrent,
      .file_processes = pool.file_processes,
      .file_max_concurrent = pool.file_max_concurrent,
      .overridden =
          pool.processes != pool.file_processes || pool.max_concurrent != pool.file_max_concurrent,
  };
  if (pool.override_ends_in) out.override_ends_seconds = seconds(*pool.override_ends_in);
  for (const SlotView& slot : pool.slots) {
    out.ready += slot.state == SlotState::ready ? 1 : 0;
    out.busy += slot.in_flight;
    out.slots.push_back(document_of(slot));
  }
  return out;
}

LogLineDocument document_of(WorkerLine line) {
  return {
      .time = rfc3339(line.time),
      .flow = std::move(line.flow_slug),
      .step = unless_empty(line.step_slug),
      .slot = line.slot,
      .worker_id = std::move(line.worker_id),
      .text = std::move(line.text),
  };
}

StatusDocument document_of(const Snapshot& snapshot) {
  StatusDocument out{
      .name = snapshot.name,
      .generation = snapshot.generation,
      .pid = snapshot.pid,
      .config = snapshot.config_file,
      .uptime_seconds = seconds(snapshot.uptime),
      .phase = std::string(to_string(snapshot.phase)),
      .was_ready = snapshot.was_ready,
      .database =
          {.up = snapshot.database_up,
           .error = unless_empty(snapshot.database_error),
           .for_seconds = seconds(snapshot.database_for),
           .version = version_text(snapshot.database_version)},
      .pending_releases = snapshot.pending_releases,
  };
  for (const FlowView& flow : snapshot.flows) {
    out.flows.push_back({flow.slug, flow.queue_mode, flow.compiled, flow.queues});
  }
  for (const PoolView& pool : snapshot.pools) out.pools.push_back(document_of(pool));
  for (const FenceView& fence : snapshot.fences) {
    out.fences.push_back({fence.fence_id, fence.function_names, fence.owner, fence.reason});
  }
  for (const ExitView& exit : snapshot.exits) out.exits.push_back(document_of(exit));
  return out;
}

}  // namespace pgflow::supervisor
