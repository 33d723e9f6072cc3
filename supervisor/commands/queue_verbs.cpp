// How `pgflow queue …` is called.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_queue_verbs(Verbs& verbs) {
  CLI::App& queue = verbs.group("queue", "The queues of flows");
  auto& queues = verbs.add(queue, "list", "List them with what lies in them", queue_list);
  queues.add_database();
  queues.add_list_output();

  auto& one_queue = verbs.add<std::string>(queue, "show", "Show one queue", queue_show);
  one_queue.add_option("queue", *one_queue, "Its name")->required()->type_name("QUEUE");
  one_queue.add_database();
  one_queue.add_list_output();

  auto& peek = verbs.add<QueuePeekArguments>(
      queue,
      "peek",
      "Look at the next messages without reading them; never at what they hold",
      queue_peek
  );
  peek.add_option("queue", peek->queue, "Its name")->required()->type_name("QUEUE");
  peek.add_option("-n", peek->count, "At most so many (5)")
      ->check(CLI::Range(1, 1'000))
      ->type_name("N");
  peek.add_database();
  peek.add_list_output();
}

}  // namespace pgflow::cli
