// How the verbs that show what goes on now are called: `status`, `coverage`, `top`, …
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
