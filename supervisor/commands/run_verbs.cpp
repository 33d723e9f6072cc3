// How `pgflow run …` is called.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_run_verbs(Verbs& verbs) {
  CLI::App& run = verbs.group("run", "Start runs and look at them");

  auto& start = verbs.add<RunStartArguments>(
      run, "start", "Start one run, or one for each line of input", run_start
  );
  start.add_option("flow", start->flow, "The flow")->required()->type_name("FLOW");
  start.add_option("--input", start->input, "JSON, @file, or - for stdin")
      ->type_name("JSON|@FILE|-");
  start.add_flag("--each-line", start->each_line, "The input is JSON lines: one run for each");
  CLI::Option* start_wait =
      start.add_flag("--wait", start->wait, "Wait for the end (exit code 1 when a run failed)");
  start.add_timeout(start->timeout)->needs(start_wait);
  start.add_database();
  start.add_output();

  auto& show = verbs.add<std::string>(run, "show", "Show one run as a tree of its steps", run_show);
  show.add_option("run", *show, "A run id, or its beginning")->required()->type_name("ID");
  show.add_database();
  show.add_output();

  auto& wait = verbs.add<RunWaitArguments>(
      run, "wait", "Wait for the end of runs (exit code 1 when one failed)", run_wait
  );
  wait.add_option("run", wait->runs, "Run ids, or their beginnings")->required()->type_name("ID");
  wait.add_timeout(wait->timeout);
  wait.add_database();
  wait.add_output();

  auto& list = verbs.add<RunListArguments>(run, "list", "List runs, newest first", run_list);
  list.add_option("--flow", list->flow, "Only runs of this flow")->type_name("FLOW");
  list.add_option("--status", list->status, "Only runs in this state")
      ->check(one_of({"started", "completed", "failed"}))
      ->type_name("started|completed|failed");
  list.add_option("--limit", list->limit, "At most so many (20)")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  list.add_database();
  list.add_output();

  auto& rerun = verbs.add<RunRerunArguments>(
      run, "rerun", "Start a new run with the input of an earlier one", run_rerun
  );
  rerun.add_option("run", rerun->run, "A run id, or its beginning")->required()->type_name("ID");
  rerun.add_option("--input", rerun->input, "Another input: JSON, @file, or - for stdin")
      ->type_name("JSON|@FILE|-");
  CLI::Option* rerun_wait =
      rerun.add_flag("--wait", rerun->wait, "Wait for the end (exit code 1 when it failed)");
  rerun.add_timeout(rerun->timeout)->needs(rerun_wait);
  rerun.add_database();
  rerun.add_output();

  auto& cancel =
      verbs.add<RunCancelArguments>(run, "cancel", "End runs; they count as failed", run_cancel);
  cancel.add_option("run", cancel->runs, "Run ids, or their beginnings")->type_name("ID");
  CLI::Option* cancel_flow =
      cancel.add_option("--flow", cancel->flow, "All started runs of this flow")->type_name("FLOW");
  cancel.add_option("--status", cancel->status, "Only started runs can be cancelled")
      ->check(one_of({"started"}))
      ->needs(cancel_flow)
      ->type_name("started");
  cancel.add_flag("-y,--yes", cancel->yes, "Yes, all of them");
  cancel.add_option("--reason", cancel->reason, "Why; the error of unfinished tasks")
      ->type_name("TEXT");
  cancel.add_database();
  cancel.add_output();

  auto& tail = verbs.add<RunTailArguments>(
      run, "tail", "Follow a run to its end (exit code 1 when it failed)", run_tail
  );
  tail.add_option("run", tail->run, "A run id, or its beginning")->required()->type_name("ID");
  tail.add_timeout(tail->timeout);
  tail.add_database();
  tail.add_output({"text", "jsonl"}, "text for people, jsonl for programs, a line each");
}

}  // namespace pgflow::cli
