// From a checked plan to the process's exit code.
#include <pgflow/detail/worker_plan.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "contract/environment.hpp"
#include "log/log.hpp"
#include "uv/loop.hpp"
#include "worker/command_tree.hpp"
#include "worker/environment.hpp"
#include "worker/handler_sql.hpp"
#include "worker/identity.hpp"
#include "worker/startup.hpp"
#include "worker/worker.hpp"

namespace pgflow {
namespace {

void start_logging(const detail::WorkerPlan& plan, const worker::Identity& identity) {
  log::Options options{.component = "worker"};
  options.context = {{"worker_id", identity.worker_id.text()}, {"flow", plan.definition->slug}};
  if (plan.step_slug) options.context.emplace_back("step", *plan.step_slug);
  if (const auto level =
          log::parse_level(first_set({"PGFLOW_LOG_LEVEL", "EDGE_WORKER_LOG_LEVEL"}))) {
    options.level = *level;
  }
  if (const auto format =
          log::parse_format(first_set({"PGFLOW_LOG_FORMAT", "EDGE_WORKER_LOG_FORMAT"}))) {
    options.format = *format;
  }
  if (identity.supervised()) {
    options.colour = std::string_view(first_set({contract::kLogColourVariable})) == "1";
    // A pipe takes blocks: what a handler prints would be seen late, and after a crash never.
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  }
  log::init(std::move(options));
}

int refuse(const Error& why, ExitCode code) {
  log::error("worker.refused", why, {{"exit_code", number(code)}});
  return number(code);
}

}  // namespace

int detail::run_worker(WorkerPlan plan) {
  auto identity = worker::adopt_identity(plan);
  if (!identity) return refuse(identity.error(), ExitCode::usage);
  start_logging(plan, *identity);
  const auto database = find_database(plan.config.connection_string);
  if (!database) return refuse(database.error(), ExitCode::config);

  plan.resources.each_thread.push_back(handler_sql(
      *database, std::string(contract::kWorkerApplicationName) + identity->worker_id.text()
  ));
  uv::Loop loop;
  worker::Worker worker(loop, std::move(plan), std::move(*identity), *database);
  const ExitCode code = worker.run();
  if (worker.leaves_handlers_behind()) {
    worker::kill_all_commands();
    // Their threads cannot be ended, and nothing they do counts any more.
    std::fflush(nullptr);
    ::_exit(number(code));
  }
  return number(code);
}

}  // namespace pgflow
