// How the orders to a running supervisor are called: `scale`, `pause`, `drain`, …
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_order_verbs(Verbs& verbs) {
  auto& scale = verbs.add<ScaleArguments>(
      verbs.app,
      "scale",
      "Give pools other numbers than the config file's, until --reset",
      cli::scale
  );
  scale
      .add_option(
          "pool", scale->pools, "[FLOW/]STEP=N processes, =NxC with C tasks at once in each, =xC"
      )
      ->required()
      ->type_name("POOL=N[xC]");
  CLI::Option* reset = scale.add_flag("--reset", scale->reset, "Back to the config file's numbers");
  scale.add_duration("--ttl", scale->ttl, "Back to them by itself after this time")
      ->excludes(reset);
  scale.add_waiting(scale->waiting, "Wait until the workers are ready");
  scale.add_room();

  auto& pause = verbs.add<PauseArguments>(
      verbs.app,
      "pause",
      "Let workers finish and start none until `pgflow resume`, also across restarts",
      cli::pause
  );
  pause.add_pools(pause->pools);
  pause.add_option("--reason", pause->reason, "Shown by pgflow status")->type_name("TEXT");
  pause.add_waiting(pause->waiting, "Wait until no worker is left");
  pause.add_room();

  const auto add_resume = [&](const std::string& name, const std::string& help) {
    auto& resume = verbs.add<ResumeArguments>(verbs.app, name, help, cli::resume);
    resume.add_pools(resume->pools);
    resume.add_waiting(resume->waiting, "Wait until the workers are ready");
    resume.add_room();
  };
  add_resume("resume", "End a pause");
  add_resume("start", "As resume");

  auto& drain = verbs.add<DrainArguments>(
      verbs.app,
      "drain",
      "Pause with a deadline, after which tasks in hand are given back",
      cli::drain
  );
  drain.add_option("pool", drain->pools, "Only these pools")->type_name("POOL");
  drain.add_flag("--wait", drain->wait, "Wait until no worker is left");
  drain.add_duration(
      "--timeout",
      drain->timeout,
      "The deadline (the longest step time-out); --wait gives up 10s later (exit code 124)"
  );
  drain.add_room();

  auto& restart = verbs.add<ResumeArguments>(
      verbs.app,
      "restart",
      "Replace the workers of pools, one after the other, without a gap",
      cli::restart
  );
  restart.add_pools(restart->pools);
  restart.add_waiting(restart->waiting, "Wait until all are replaced");
  restart.add_room();

  auto& stop = verbs.add<StopArguments>(
      verbs.app,
      "stop",
      "Stop the supervisor, or pause pools within its shutdown deadline",
      cli::stop
  );
  stop.add_option("pool", stop->pools, "Only these pools")->type_name("POOL");
  stop.add_waiting(stop->waiting, "Wait until it has ended, or no worker is left");
  stop.add_room();
}

}  // namespace pgflow::cli
