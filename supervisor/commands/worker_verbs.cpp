// How `pgflow worker …` is called.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_worker_verbs(Verbs& verbs) {
  CLI::App& worker = verbs.group("worker", "The workers that the database knows");
  auto& workers = verbs.add<bool>(worker, "list", "List them, on all hosts", worker_list);
  workers.add_flag("--all", *workers, "Those that have stopped, too");
  workers.add_database();
  workers.add_list_output();

  auto& one_worker =
      verbs.add<std::string>(worker, "show", "Show one worker and its tasks in hand", worker_show);
  one_worker.add_option("worker", *one_worker, "A worker id, or its beginning")
      ->required()
      ->type_name("ID");
  one_worker.add_database();
  one_worker.add_output();
}

}  // namespace pgflow::cli
