// How the verbs that show what goes on now are called: `status`, `coverage`, `logs`, …
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_watching_verbs(Verbs& verbs) {
  auto& status = verbs.add<StatusArguments>(
      verbs.app, "status", "Show flows, their steps' queues and work, and the workers", cli::status
  );
  status.add_option("flow", status->flow, "Only this flow")->type_name("FLOW");
  status.add_socket();
  status.add_database();
  status.add_output();

  auto& coverage = verbs.add<CoverageArguments>(
      verbs.app,
      "coverage",
      "Tell whether every step has a live worker (exit code 1 while one has none)",
      cli::coverage
  );
  coverage.add_option("flow", coverage->flows, "Only these flows")->type_name("FLOW");
  CLI::Option* coverage_wait =
      coverage.add_flag("--wait", coverage->wait, "Wait until all steps are covered");
  coverage.add_timeout(coverage->timeout)->needs(coverage_wait);
  coverage.add_database();
  coverage.add_output();

  auto& top = verbs.add(
      verbs.app, "top", "Watch the supervisor, its pools and workers on the whole screen", cli::top
  );
  top.add_socket();
  top.add_config();

  auto& logs = verbs.add<LogsArguments>(
      verbs.app, "logs", "Show what the supervisor's workers wrote lately", cli::logs
  );
  logs.add_option("whose", logs->whose, "Only this pool's, or this worker's")
      ->type_name("POOL|WORKER");
  logs.add_flag("-f,--follow", logs->follow, "Go on with what they write from now on");
  logs.add_option("-n,--lines", logs->lines, "At most so many of the past (100)")
      ->check(CLI::Range(0, 2000))
      ->type_name("N");
  logs.add_socket();
  logs.add_config();
  logs.add_output({"text", "jsonl"}, "text for people, jsonl for programs, an object a line");

  auto& health = verbs.add<std::string>(
      verbs.app,
      "healthcheck",
      "Ask a probe of the supervisor (exit code 1 when it is not healthy)",
      healthcheck
  );
  *health = "complete";
  health.add_option("probe", *health, "minimal: it lives; complete: work can be done (complete)")
      ->check(one_of({"minimal", "complete"}))
      ->type_name("minimal|complete");
  health.add_room();

  auto& metrics = verbs.add(verbs.app, "metrics", "Print the supervisor's metrics", cli::metrics);
  metrics.add_socket();
  metrics.add_config();
}

}  // namespace pgflow::cli
