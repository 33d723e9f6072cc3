// How `pgflow task …` is called.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_task_verbs(Verbs& verbs) {
  CLI::App& task = verbs.group("task", "The tasks of a run, and those that stalled");
  auto& tasks = verbs.add<TaskListArguments>(task, "list", "List the tasks of a run", task_list);
  tasks.add_option("--run", tasks->run, "A run id, or its beginning")->required()->type_name("ID");
  tasks.add_option("--status", tasks->status, "Only tasks in this state")
      ->check(one_of({"queued", "started", "completed", "failed", "cancelled"}))
      ->type_name("queued|started|completed|failed|cancelled");
  tasks.add_database();
  tasks.add_list_output();

  auto& requeue = verbs.add<TaskRequeueArguments>(
      task,
      "requeue",
      "Give tasks that stalled for good, or lost their message, to the workers again",
      task_requeue
  );
  requeue.add_option("--run", requeue->run, "Those of this run")->type_name("ID");
  requeue.add_option("--flow", requeue->flow, "Those of this flow")->type_name("FLOW");
  requeue.add_flag("--all", requeue->all, "Those of all flows");
  requeue.add_database();
  requeue.add_list_output();
}

}  // namespace pgflow::cli
