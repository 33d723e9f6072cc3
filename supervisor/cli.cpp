#include "supervisor/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/did_you_mean.hpp"
#include "supervisor/cli_scripts.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"

namespace pgflow::cli {
namespace {

using Verb = std::function<Outcome<Exit>()>;

// Everything the arguments are parsed into; the verb that was named ends up in `verb`.
struct Parsed {
  Common common;
  Verb verb;

  InitArguments init;
  DevArguments dev;
  ScaleArguments scale;
  PauseArguments pause;
  DrainArguments drain;
  ResumeArguments resume;
  ResumeArguments restart;
  StopArguments stop;
  std::string healthcheck = "complete";
  StatusArguments status;
  CoverageArguments coverage;
  RunStartArguments run_start;
  RunWaitArguments run_wait;
  RunListArguments run_list;
  RunRerunArguments run_rerun;
  RunCancelArguments run_cancel;
  RunTailArguments run_tail;
  TaskListArguments task_list;
  TaskRequeueArguments task_requeue;
  std::string queue_show;
  QueuePeekArguments queue_peek;
  bool worker_list_all = false;
  std::string worker_show;
  ConfigShowArguments config_show;
  std::string shell;
  FenceArguments fence;
  UnfenceArguments unfence;
  bool fence_list_all = false;
  MigrateArguments migrate;
  std::string run_show;
  std::string sql;
  std::string config_check = "pgflow.json";
};

// "250ms", "60s", "5m", "1h"; a number alone counts seconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0) || number > 1e9) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = 0;
  if (unit == "ms") factor = 1;
  if (unit == "s" || unit.empty()) factor = 1e3;
  if (unit == "m") factor = 60e3;
  if (unit == "h") factor = 3600e3;
  if (factor == 0) return std::nullopt;
  return std::chrono::milliseconds(static_cast<long long>(number * factor));
}

std::function<std::string(const std::string&)> one_of(std::vector<std::string> known) {
  return [known = std::move(known)](const std::string& value) {
    if (std::ranges::find(known, value) != known.end()) return std::string();
    return fmt::format("must be one of {}, got \"{}\"", fmt::join(known, ", "), value);
  };
}

void add_output(CLI::App& verb, Common& common, std::vector<std::string> known, const char* help) {
  verb.add_option_function<std::string>(
          "-o,--output",
          [&common](const std::string& value) {
            common.output = value == "json"    ? Output::json
                            : value == "jsonl" ? Output::jsonl
                                               : Output::text;
          },
          help
  )
      ->type_name(fmt::format("{}", fmt::join(known, "|")))
      ->check(one_of(std::move(known)));
}

void add_output(CLI::App& verb, Common& common) {
  add_output(verb, common, {"text", "json"}, "text for people, json for programs");
}

void add_list_output(CLI::App& verb, Common& common) {
  add_output(
      verb,
      common,
      {"text", "json", "jsonl"},
      "text for people, json for programs, jsonl a line each"
  );
}

void add_config(CLI::App& verb, Common& common) {
  verb.add_option("-c,--config", common.config, "The config file")
      ->envname("PGFLOW_CONFIG")
      ->type_name("FILE");
}

void add_database(CLI::App& verb, Common& common) {
  verb.add_option(
          "-d,--database-url", common.database_url, "The database; wins over everything else"
  )
      ->type_name("URL");
  add_config(verb, common);
}

void add_socket(CLI::App& verb, Common& common) {
  verb.add_option("--socket", common.socket, "The supervisor's control socket")
      ->envname("PGFLOW_SOCKET")
      ->type_name("PATH");
}

// What all verbs share that talk to a running supervisor.
void add_room(CLI::App& verb, Common& common) {
  add_socket(verb, common);
  add_config(verb, common);
  add_output(verb, common);
}

CLI::Option* add_duration(
    CLI::App& verb, const std::string& name, Timeout& value, const std::string& help
) {
  return verb
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = parse_duration(text); }, help
      )
      ->check([](const std::string& text) {
        return parse_duration(text)
                   ? std::string()
                   : fmt::format("\"{}\" is not a duration like 500ms, 60s, 5m or 1h", text);
      })
      ->type_name("TIME");
}

CLI::Option* add_timeout(CLI::App& verb, Timeout& timeout) {
  return add_duration(verb, "--timeout", timeout, "Give up after this time (exit code 124)");
}

void add_waiting(CLI::App& verb, WaitArguments& waiting, const std::string& help) {
  CLI::Option* wait = verb.add_flag("--wait", waiting.wait, help);
  add_timeout(verb, waiting.timeout)->needs(wait);
}

void add_pools(CLI::App& verb, PoolArguments& pools) {
  CLI::Option* names =
      verb.add_option("pool", pools.pools, "FLOW/STEP, STEP, or FLOW for all of its pools")
          ->type_name("POOL");
  verb.add_flag("--all", pools.all, "Every pool of the supervisor")->excludes(names);
}

CLI::App& add_verb(
    CLI::App& parent, Parsed& parsed, std::string name, std::string help, Verb verb
) {
  CLI::App& added = *parent.add_subcommand(std::move(name), std::move(help));
  // Of a verb that has others below it (`fence`, `fence list`) the innermost stands.
  added.parse_complete_callback([&parsed, &added, verb = std::move(verb)] {
    if (added.get_subcommands().empty()) parsed.verb = verb;
  });
  return added;
}

void add_project_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& init = add_verb(
      app,
      parsed,
      "init",
      "Make a new project, a flow that builds and runs as it stands",
      [&] { return cli::init(parsed.common, parsed.init); }
  );
  init.add_option("folder", parsed.init.folder, "Where, made if need be (the current folder)")
      ->type_name("DIR");
  init.add_option("--lang", parsed.init.lang, "What its handlers are written in (cpp)")
      ->check(one_of({"cpp", "python", "shell"}))
      ->type_name("cpp|python|shell");
}

void add_supervisor_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& dev = add_verb(
      app,
      parsed,
      "dev",
      "Run a project with a PostgreSQL of its own, for development",
      [&] { return cli::dev(parsed.common, parsed.dev); }
  );
  add_config(dev, parsed.common);
  dev.add_flag(
      "--ephemeral",
      parsed.dev.ephemeral,
      "Keep the database in a temporary folder, removed at the end"
  );

  CLI::App& up = add_verb(app, parsed, "up", "Run the supervisor in the foreground", [&] {
    return cli::up(parsed.common);
  });
  add_database(up, parsed.common);
}

void add_order_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& scale = add_verb(
      app,
      parsed,
      "scale",
      "Give pools other numbers than the config file's, until --reset",
      [&] { return cli::scale(parsed.common, parsed.scale); }
  );
  scale
      .add_option(
          "pool",
          parsed.scale.pools,
          "[FLOW/]STEP=N processes, =NxC with C tasks at once in each, =xC"
      )
      ->required()
      ->type_name("POOL=N[xC]");
  CLI::Option* reset =
      scale.add_flag("--reset", parsed.scale.reset, "Back to the config file's numbers");
  add_duration(scale, "--ttl", parsed.scale.ttl, "Back to them by itself after this time")
      ->excludes(reset);
  add_waiting(scale, parsed.scale.waiting, "Wait until the workers are ready");
  add_room(scale, parsed.common);

  CLI::App& pause = add_verb(
      app,
      parsed,
      "pause",
      "Let workers finish and start none until `pgflow resume`, also across restarts",
      [&] { return cli::pause(parsed.common, parsed.pause); }
  );
  add_pools(pause, parsed.pause.pools);
  pause.add_option("--reason", parsed.pause.reason, "Shown by pgflow status")->type_name("TEXT");
  add_waiting(pause, parsed.pause.waiting, "Wait until no worker is left");
  add_room(pause, parsed.common);

  const auto add_resume = [&](const std::string& name, const std::string& help) {
    CLI::App& resume = add_verb(app, parsed, name, help, [&] {
      return cli::resume(parsed.common, parsed.resume);
    });
    add_pools(resume, parsed.resume.pools);
    add_waiting(resume, parsed.resume.waiting, "Wait until the workers are ready");
    add_room(resume, parsed.common);
  };
  add_resume("resume", "End a pause");
  add_resume("start", "As resume");

  CLI::App& drain = add_verb(
      app,
      parsed,
      "drain",
      "Pause with a deadline, after which tasks in hand are given back",
      [&] { return cli::drain(parsed.common, parsed.drain); }
  );
  drain.add_option("pool", parsed.drain.pools, "Only these pools")->type_name("POOL");
  drain.add_flag("--wait", parsed.drain.wait, "Wait until no worker is left");
  add_duration(
      drain,
      "--timeout",
      parsed.drain.timeout,
      "The deadline (the longest step time-out); --wait gives up 10s later (exit code 124)"
  );
  add_room(drain, parsed.common);

  CLI::App& restart = add_verb(
      app,
      parsed,
      "restart",
      "Replace the workers of pools, one after the other, without a gap",
      [&] { return cli::restart(parsed.common, parsed.restart); }
  );
  add_pools(restart, parsed.restart.pools);
  add_waiting(restart, parsed.restart.waiting, "Wait until all are replaced");
  add_room(restart, parsed.common);

  CLI::App& stop = add_verb(
      app,
      parsed,
      "stop",
      "Stop the supervisor, or pause pools within its shutdown deadline",
      [&] { return cli::stop(parsed.common, parsed.stop); }
  );
  stop.add_option("pool", parsed.stop.pools, "Only these pools")->type_name("POOL");
  add_waiting(stop, parsed.stop.waiting, "Wait until it has ended, or no worker is left");
  add_room(stop, parsed.common);
}

void add_health_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& top = add_verb(
      app,
      parsed,
      "top",
      "Watch the supervisor, its pools and workers on the whole screen",
      [&] { return cli::top(parsed.common); }
  );
  add_socket(top, parsed.common);
  add_config(top, parsed.common);

  CLI::App& health = add_verb(
      app,
      parsed,
      "healthcheck",
      "Ask a probe of the supervisor (exit code 1 when it is not healthy)",
      [&] { return cli::healthcheck(parsed.common, parsed.healthcheck); }
  );
  health
      .add_option(
          "probe", parsed.healthcheck, "minimal: it lives; complete: work can be done (complete)"
      )
      ->check(one_of({"minimal", "complete"}))
      ->type_name("minimal|complete");
  add_room(health, parsed.common);

  CLI::App& metrics = add_verb(app, parsed, "metrics", "Print the supervisor's metrics", [&] {
    return cli::metrics(parsed.common);
  });
  add_socket(metrics, parsed.common);
  add_config(metrics, parsed.common);
}

void add_reading_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& status = add_verb(
      app,
      parsed,
      "status",
      "Show flows, their steps' queues and work, and the workers",
      [&] { return cli::status(parsed.common, parsed.status); }
  );
  status.add_option("flow", parsed.status.flow, "Only this flow")->type_name("FLOW");
  add_socket(status, parsed.common);
  add_database(status, parsed.common);
  add_output(status, parsed.common);

  CLI::App& coverage = add_verb(
      app,
      parsed,
      "coverage",
      "Tell whether every step has a live worker (exit code 1 while one has none)",
      [&] { return cli::coverage(parsed.common, parsed.coverage); }
  );
  coverage.add_option("flow", parsed.coverage.flows, "Only these flows")->type_name("FLOW");
  CLI::Option* coverage_wait =
      coverage.add_flag("--wait", parsed.coverage.wait, "Wait until all steps are covered");
  add_timeout(coverage, parsed.coverage.timeout)->needs(coverage_wait);
  add_database(coverage, parsed.common);
  add_output(coverage, parsed.common);
}

void add_run_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& run = *app.add_subcommand("run", "Start runs and look at them");
  run.require_subcommand(1);

  CLI::App& start =
      add_verb(run, parsed, "start", "Start one run, or one for each line of input", [&] {
        return cli::run_start(parsed.common, parsed.run_start);
      });
  start.add_option("flow", parsed.run_start.flow, "The flow")->required()->type_name("FLOW");
  start.add_option("--input", parsed.run_start.input, "JSON, @file, or - for stdin")
      ->type_name("JSON|@FILE|-");
  start.add_flag(
      "--each-line", parsed.run_start.each_line, "The input is JSON lines: one run for each"
  );
  CLI::Option* start_wait = start.add_flag(
      "--wait", parsed.run_start.wait, "Wait for the end (exit code 1 when a run failed)"
  );
  add_timeout(start, parsed.run_start.timeout)->needs(start_wait);
  add_database(start, parsed.common);
  add_output(start, parsed.common);

  CLI::App& show = add_verb(run, parsed, "show", "Show one run as a tree of its steps", [&] {
    return cli::run_show(parsed.common, parsed.run_show);
  });
  show.add_option("run", parsed.run_show, "A run id, or its beginning")
      ->required()
      ->type_name("ID");
  add_database(show, parsed.common);
  add_output(show, parsed.common);

  CLI::App& wait =
      add_verb(run, parsed, "wait", "Wait for the end of runs (exit code 1 when one failed)", [&] {
        return cli::run_wait(parsed.common, parsed.run_wait);
      });
  wait.add_option("run", parsed.run_wait.runs, "Run ids, or their beginnings")
      ->required()
      ->type_name("ID");
  add_timeout(wait, parsed.run_wait.timeout);
  add_database(wait, parsed.common);
  add_output(wait, parsed.common);

  CLI::App& list = add_verb(run, parsed, "list", "List runs, newest first", [&] {
    return cli::run_list(parsed.common, parsed.run_list);
  });
  list.add_option("--flow", parsed.run_list.flow, "Only runs of this flow")->type_name("FLOW");
  list.add_option("--status", parsed.run_list.status, "Only runs in this state")
      ->check(one_of({"started", "completed", "failed"}))
      ->type_name("started|completed|failed");
  list.add_option("--limit", parsed.run_list.limit, "At most so many (20)")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  add_database(list, parsed.common);
  add_output(list, parsed.common);
}

void add_more_run_verbs(CLI::App& run, Parsed& parsed) {
  CLI::App& rerun =
      add_verb(run, parsed, "rerun", "Start a new run with the input of an earlier one", [&] {
        return cli::run_rerun(parsed.common, parsed.run_rerun);
      });
  rerun.add_option("run", parsed.run_rerun.run, "A run id, or its beginning")
      ->required()
      ->type_name("ID");
  rerun.add_option("--input", parsed.run_rerun.input, "Another input: JSON, @file, or - for stdin")
      ->type_name("JSON|@FILE|-");
  CLI::Option* rerun_wait = rerun.add_flag(
      "--wait", parsed.run_rerun.wait, "Wait for the end (exit code 1 when it failed)"
  );
  add_timeout(rerun, parsed.run_rerun.timeout)->needs(rerun_wait);
  add_database(rerun, parsed.common);
  add_output(rerun, parsed.common);

  CLI::App& cancel = add_verb(run, parsed, "cancel", "End runs; they count as failed", [&] {
    return cli::run_cancel(parsed.common, parsed.run_cancel);
  });
  cancel.add_option("run", parsed.run_cancel.runs, "Run ids, or their beginnings")->type_name("ID");
  CLI::Option* cancel_flow =
      cancel.add_option("--flow", parsed.run_cancel.flow, "All started runs of this flow")
          ->type_name("FLOW");
  cancel.add_option("--status", parsed.run_cancel.status, "Only started runs can be cancelled")
      ->check(one_of({"started"}))
      ->needs(cancel_flow)
      ->type_name("started");
  cancel.add_flag("-y,--yes", parsed.run_cancel.yes, "Yes, all of them");
  cancel.add_option("--reason", parsed.run_cancel.reason, "Why; the error of unfinished tasks")
      ->type_name("TEXT");
  add_database(cancel, parsed.common);
  add_output(cancel, parsed.common);

  CLI::App& tail =
      add_verb(run, parsed, "tail", "Follow a run to its end (exit code 1 when it failed)", [&] {
        return cli::run_tail(parsed.common, parsed.run_tail);
      });
  tail.add_option("run", parsed.run_tail.run, "A run id, or its beginning")
      ->required()
      ->type_name("ID");
  add_timeout(tail, parsed.run_tail.timeout);
  add_database(tail, parsed.common);
  add_output(
      tail, parsed.common, {"text", "jsonl"}, "text for people, jsonl for programs, a line each"
  );
}

void add_thing_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& task = *app.add_subcommand("task", "The tasks of a run, and those that stalled");
  task.require_subcommand(1);
  CLI::App& tasks = add_verb(task, parsed, "list", "List the tasks of a run", [&] {
    return cli::task_list(parsed.common, parsed.task_list);
  });
  tasks.add_option("--run", parsed.task_list.run, "A run id, or its beginning")
      ->required()
      ->type_name("ID");
  tasks.add_option("--status", parsed.task_list.status, "Only tasks in this state")
      ->check(one_of({"queued", "started", "completed", "failed", "cancelled"}))
      ->type_name("queued|started|completed|failed|cancelled");
  add_database(tasks, parsed.common);
  add_list_output(tasks, parsed.common);

  CLI::App& requeue = add_verb(
      task,
      parsed,
      "requeue",
      "Give tasks that stalled for good, or lost their message, to the workers again",
      [&] { return cli::task_requeue(parsed.common, parsed.task_requeue); }
  );
  requeue.add_option("--run", parsed.task_requeue.run, "Those of this run")->type_name("ID");
  requeue.add_option("--flow", parsed.task_requeue.flow, "Those of this flow")->type_name("FLOW");
  requeue.add_flag("--all", parsed.task_requeue.all, "Those of all flows");
  add_database(requeue, parsed.common);
  add_list_output(requeue, parsed.common);

  CLI::App& queue = *app.add_subcommand("queue", "The queues of flows");
  queue.require_subcommand(1);
  CLI::App& queues = add_verb(queue, parsed, "list", "List them with what lies in them", [&] {
    return cli::queue_list(parsed.common);
  });
  add_database(queues, parsed.common);
  add_list_output(queues, parsed.common);

  CLI::App& one_queue = add_verb(queue, parsed, "show", "Show one queue", [&] {
    return cli::queue_show(parsed.common, parsed.queue_show);
  });
  one_queue.add_option("queue", parsed.queue_show, "Its name")->required()->type_name("QUEUE");
  add_database(one_queue, parsed.common);
  add_list_output(one_queue, parsed.common);

  CLI::App& peek = add_verb(
      queue,
      parsed,
      "peek",
      "Look at the next messages without reading them; never at what they hold",
      [&] { return cli::queue_peek(parsed.common, parsed.queue_peek); }
  );
  peek.add_option("queue", parsed.queue_peek.queue, "Its name")->required()->type_name("QUEUE");
  peek.add_option("-n", parsed.queue_peek.count, "At most so many (5)")
      ->check(CLI::Range(1, 1'000))
      ->type_name("N");
  add_database(peek, parsed.common);
  add_list_output(peek, parsed.common);

  CLI::App& worker = *app.add_subcommand("worker", "The workers that the database knows");
  worker.require_subcommand(1);
  CLI::App& workers = add_verb(worker, parsed, "list", "List them, on all hosts", [&] {
    return cli::worker_list(parsed.common, parsed.worker_list_all);
  });
  workers.add_flag("--all", parsed.worker_list_all, "Those that have stopped, too");
  add_database(workers, parsed.common);
  add_list_output(workers, parsed.common);

  CLI::App& one_worker =
      add_verb(worker, parsed, "show", "Show one worker and its tasks in hand", [&] {
        return cli::worker_show(parsed.common, parsed.worker_show);
      });
  one_worker.add_option("worker", parsed.worker_show, "A worker id, or its beginning")
      ->required()
      ->type_name("ID");
  add_database(one_worker, parsed.common);
  add_output(one_worker, parsed.common);
}

void add_fence_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& fence = add_verb(
      app,
      parsed,
      "fence",
      "Let nothing of these flows or steps run until it is unfenced, on any host",
      [&] { return cli::fence(parsed.common, parsed.fence); }
  );
  fence.add_option("target", parsed.fence.targets, "Whole flows, or single steps")
      ->type_name("FLOW[/STEP]");
  fence.add_option("--reason", parsed.fence.reason, "Why, for whoever meets the fence")
      ->type_name("TEXT");
  fence.add_option("--owner", parsed.fence.owner, "Who (this user at this host)")
      ->type_name("NAME");
  CLI::Option* fence_wait = fence.add_flag(
      "--wait",
      parsed.fence.wait,
      "Wait until no task of them is in hand and every supervisor has acknowledged"
  );
  add_timeout(fence, parsed.fence.timeout)->needs(fence_wait);
  add_database(fence, parsed.common);
  add_output(fence, parsed.common);

  CLI::App& list =
      add_verb(fence, parsed, "list", "List the fences that stand, and what still runs", [&] {
        return cli::fence_list(parsed.common, parsed.fence_list_all);
      });
  list.add_flag("--all", parsed.fence_list_all, "Those that were lifted, too");
  add_database(list, parsed.common);
  add_output(list, parsed.common);

  CLI::App& unfence = add_verb(
      app,
      parsed,
      "unfence",
      "Lift fences; every function gets back the state it had before",
      [&] { return cli::unfence(parsed.common, parsed.unfence); }
  );
  unfence.add_option("fence", parsed.unfence.targets, "Fence ids, or what the fences stand around")
      ->required()
      ->type_name("ID|FLOW[/STEP]");
  CLI::Option* token =
      unfence.add_option("--token", parsed.unfence.token, "The token that fence printed")
          ->type_name("TOKEN");
  CLI::Option* force =
      unfence.add_flag("--force", parsed.unfence.force, "Without the token; wants a reason")
          ->excludes(token);
  unfence.add_option("--reason", parsed.unfence.reason, "Why, kept with the fence")
      ->needs(force)
      ->type_name("TEXT");
  add_database(unfence, parsed.common);
  add_output(unfence, parsed.common);
}

void add_database_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& migrate = *app.add_subcommand("migrate", "Install or update the schema");
  migrate.require_subcommand(1);
  CLI::App& up = add_verb(migrate, parsed, "up", "Bring the schema to this program's version", [&] {
    return cli::migrate_up(parsed.common, parsed.migrate);
  });
  up.add_flag(
      "--adopt", parsed.migrate.adopt, "Take over the schema that upstream pgflow installed"
  );
  add_database(up, parsed.common);
  add_output(up, parsed.common);

  CLI::App& down = add_verb(migrate, parsed, "down", "Go back, for an older program", [&] {
    return cli::migrate_down(parsed.common, parsed.migrate);
  });
  down.add_option("--to", parsed.migrate.to, "Back to this version (default: one back)")
      ->type_name("VERSION");
  add_database(down, parsed.common);
  add_output(down, parsed.common);

  CLI::App& state = add_verb(
      migrate,
      parsed,
      "status",
      "List migrations (exit code 1 while one is missing)",
      [&] { return cli::migrate_status(parsed.common); }
  );
  add_database(state, parsed.common);
  add_output(state, parsed.common);

  CLI::App& script = add_verb(migrate, parsed, "sql", "Print what up or down would execute", [&] {
    return cli::migrate_sql(parsed.migrate);
  });
  script.add_option("--from", parsed.migrate.from, "The database's version (default: 0, none)")
      ->type_name("VERSION");
  script.add_option("--to", parsed.migrate.to, "The wanted version (default: this program's)")
      ->type_name("VERSION");

  CLI::App& validate = add_verb(
      migrate,
      parsed,
      "validate",
      "Rehearse up, and compare every function (exit code 1 for a difference)",
      [&] { return cli::migrate_validate(parsed.common); }
  );
  add_database(validate, parsed.common);
  add_output(validate, parsed.common);

  CLI::App& db = *app.add_subcommand("db", "The database in use");
  db.require_subcommand(1);
  CLI::App& url = add_verb(
      db,
      parsed,
      "url",
      "Print where the database is, with the password if there is one",
      [&] { return cli::db_url(parsed.common); }
  );
  add_database(url, parsed.common);
  add_output(url, parsed.common);

  CLI::App& sql = add_verb(app, parsed, "sql", "Print an SQL file for operators", [&] {
    return cli::sql(parsed.sql);
  });
  sql.add_option("name", parsed.sql, "coverage, prune, roles, pgmq or move-queues")
      ->required()
      ->type_name("NAME");
}

void add_other_verbs(CLI::App& app, Parsed& parsed) {
  CLI::App& config = *app.add_subcommand("config", "The config file");
  config.require_subcommand(1);
  CLI::App& check =
      add_verb(config, parsed, "check", "Name everything that is wrong with a config file", [&] {
        return cli::config_check(parsed.common, parsed.config_check);
      });
  check.add_option("file", parsed.config_check, "The file (pgflow.json)")->type_name("FILE");
  add_output(check, parsed.common);

  CLI::App& show = add_verb(config, parsed, "show", "List what a config file says, and where", [&] {
    return cli::config_show(parsed.common, parsed.config_show);
  });
  show.add_flag(
      "--effective",
      parsed.config_show.effective,
      "Everything that is in force: defaults and what wins over the file, too"
  );
  add_database(show, parsed.common);
  add_output(show, parsed.common);

  add_verb(config, parsed, "schema", "Print the JSON Schema of config files, for editors", [] {
    return cli::config_schema();
  });

  CLI::App& doctor = add_verb(
      app,
      parsed,
      "doctor",
      "Look for what is wrong with the database, the config and this host (exit code 1 for a "
      "failure)",
      [&] { return cli::doctor(parsed.common); }
  );
  add_database(doctor, parsed.common);
  add_output(doctor, parsed.common);

  CLI::App& completion = add_verb(
      app,
      parsed,
      "completion",
      "Print the completion script of a shell",
      [&app, &parsed]() -> Outcome<Exit> {
        print(completion_script(app, parsed.shell));
        return Exit::ok;
      }
  );
  completion.add_option("shell", parsed.shell, "Which")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");

  add_verb(
      app,
      parsed,
      "man",
      "Print the man page: pgflow man | man -l -",
      [&app]() -> Outcome<Exit> {
        print(man_page(app, PGFLOW_VERSION));
        return Exit::ok;
      }
  );

  CLI::App& version = add_verb(app, parsed, "version", "Print the version", [&] {
    return cli::version(parsed.common);
  });
  add_output(version, parsed.common);
}

// The verb that the arguments had reached when parsing stopped.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

// "pgflow run start"
std::string path_of(const CLI::App& verb) {
  if (verb.get_parent() == nullptr) return verb.get_name();
  return path_of(*verb.get_parent()) + " " + verb.get_name();
}

std::vector<std::string> names_below(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* below : verb.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(below->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string with_guess(
    const std::string& given, const std::vector<std::string>& known, const std::string& otherwise
) {
  std::string guess = did_you_mean_hint(given, known);
  return guess.empty() ? otherwise : guess + "  " + otherwise;
}

// What CLI11 could not read, in our words.
Error explain(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  const CLI::App& at = innermost(app);
  const std::string help = fmt::format("`{} --help` lists what there is.", path_of(at));
  const bool has_verbs = !names_below(at).empty();
  auto is = [&error](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };

  // What nobody took: an option before anything else, since its value may stand alone beside it.
  std::vector<std::string> rest = app.remaining(true);
  std::ranges::stable_partition(rest, [](const std::string& argument) {
    return argument.starts_with('-');
  });
  const std::string stranger = rest.empty() ? std::string() : rest.front();
  if (is(CLI::ExitCodes::ExtrasError) && !stranger.empty()) {
    if (stranger.starts_with('-') && argc > 1 && stranger == argv[1]) {
      return {
          "usage",
          fmt::format("unknown option \"{}\" of pgflow", stranger),
          "",
          "Options of a command come after it: pgflow status -o json"
      };
    }
    if (stranger.starts_with('-')) {
      return {
          "usage",
          fmt::format("unknown option \"{}\" of {}", stranger, path_of(at)),
          "",
          with_guess(stranger.substr(0, stranger.find('=')), options_of(at), help)
      };
    }
    if (has_verbs) {
      return {
          "usage",
          fmt::format("unknown command \"{}\"", stranger),
          "",
          with_guess(stranger, names_below(at), help)
      };
    }
    return {
        "usage", fmt::format("unexpected argument \"{}\" of {}", stranger, path_of(at)), "", help
    };
  }
  if (is(CLI::ExitCodes::RequiredError) && has_verbs) {
    // CLI11 misses a verb before it minds a wrong one.
    for (int i = 1; i < argc; ++i) {
      std::string argument = argv[i];
      if (argument.starts_with('-') || path_of(at).find(argument) != std::string::npos) continue;
      return {
          "usage",
          fmt::format("unknown command \"{}\"", argument),
          "",
          with_guess(argument, names_below(at), help)
      };
    }
    return {"usage", fmt::format("{} needs a command", path_of(at)), "", help};
  }
  if (is(CLI::ExitCodes::RequiredError)) {
    return {"usage", fmt::format("{}: {}", path_of(at), error.what()), "", help};
  }
  return {"usage", error.what(), "", fmt::format("`{} --help` shows the options.", path_of(at))};
}

}  // namespace

int run(int argc, char** argv) {
  Parsed parsed;
  CLI::App app(
      "Workflows whose state lives in PostgreSQL: flows of steps, each with queues and workers of "
      "its own."
  );
  app.name("pgflow");
  app.set_help_flag("-h,--help", "This text");
  app.set_version_flag("--version", "pgflow " PGFLOW_VERSION, "Print the version");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  add_project_verbs(app, parsed);
  add_supervisor_verbs(app, parsed);
  add_order_verbs(app, parsed);
  add_reading_verbs(app, parsed);
  add_health_verbs(app, parsed);
  add_run_verbs(app, parsed);
  add_more_run_verbs(*app.get_subcommand("run"), parsed);
  add_thing_verbs(app, parsed);
  add_fence_verbs(app, parsed);
  add_database_verbs(app, parsed);
  add_other_verbs(app, parsed);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    print_error(parsed.common.err, explain(error, app, argc, argv));
    return static_cast<int>(Exit::usage);
  }

  Outcome<Exit> outcome = parsed.verb();
  // Output that was lost is no success: a full disk is told only here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    outcome = refuse(
        Exit::os_error,
        "the output could not be written",
        std::strerror(errno),
        "is the disk full, or the reader of the pipe gone?"
    );
  }
  if (!outcome) {
    print_error(parsed.common.err, outcome.error().error);
    return static_cast<int>(outcome.error().exit);
  }
  return static_cast<int>(*outcome);
}

}  // namespace pgflow::cli
