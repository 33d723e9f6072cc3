// What a worker runs by: checked, without I/O, without the flow's types. The library below it needs
// no more.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pgflow/context.hpp>
#include <pgflow/shape.hpp>

namespace pgflow {

struct WorkerConfig {
  // Handlers at once, each on its own thread; at least 1.
  int max_concurrent = 10;
  // Messages read at once, at most; at least 1. A worker takes what its free handlers need, and of
  // quick tasks what they will have begun some hundredths of a second later.
  int batch_size = 1'000;
  // libpq's; "" takes DATABASE_URL, then EDGE_WORKER_DB_URL, then libpq's own variables.
  std::string connection_string{};
  // What poll_interval grows to while the queue stays empty; at least 1 s.
  std::chrono::seconds max_poll{1};
  // The pause before a queue that was busy a moment ago is read again; at least 1 ms.
  std::chrono::milliseconds poll_interval{100};
};

namespace detail {

// Everything a worker needs, checked; made without I/O.
struct WorkerPlan {
  std::shared_ptr<const FlowDefinition> definition;
  QueueMode mode = QueueMode::flow;
  std::optional<std::string> step_slug;  // set in step mode
  std::string queue_name;
  std::vector<StepRoute> routes;  // of all steps, for ensure_flow_compiled
  WorkerConfig config;
  Resources resources;
};

// `routes` is null for a plain flow. StepSelectionError, OptionError, StepQueueError (default queue
// name).
WorkerPlan plan_worker(
    std::shared_ptr<const FlowDefinition>,
    const std::vector<StepRoute>* routes,
    std::optional<std::string> step_slug,
    WorkerConfig,
    Resources
);

// Marks the process as started: AlreadyStartedError the second time.
void claim_process();

// Runs until drained; returns the process's exit code.
int run_worker(WorkerPlan);

}  // namespace detail

}  // namespace pgflow
