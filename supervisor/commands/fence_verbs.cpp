// How `fence …` and `unfence` are called.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_fence_verbs(Verbs& verbs) {
  auto& fence = verbs.add<FenceArguments>(
      verbs.app,
      "fence",
      "Let nothing of these flows or steps run until it is unfenced, on any host",
      cli::fence
  );
  fence.add_option("target", fence->targets, "Whole flows, or single steps")
      ->type_name("FLOW[/STEP]");
  fence.add_option("--reason", fence->reason, "Why, for whoever meets the fence")
      ->type_name("TEXT");
  fence.add_option("--owner", fence->owner, "Who (this user at this host)")->type_name("NAME");
  CLI::Option* fence_wait = fence.add_flag(
      "--wait",
      fence->wait,
      "Wait until no task of them is in hand and every supervisor has acknowledged"
  );
  fence.add_timeout(fence->timeout)->needs(fence_wait);
  fence.add_database();
  fence.add_output();

  auto& list =
      verbs.add<bool>(fence, "list", "List the fences that stand, and what still runs", fence_list);
  list.add_flag("--all", *list, "Those that were lifted, too");
  list.add_database();
  list.add_output();

  auto& unfence = verbs.add<UnfenceArguments>(
      verbs.app,
      "unfence",
      "Lift fences; every function gets back the state it had before",
      cli::unfence
  );
  unfence.add_option("fence", unfence->targets, "Fence ids, or what the fences stand around")
      ->required()
      ->type_name("ID|FLOW[/STEP]");
  CLI::Option* token =
      unfence.add_option("--token", unfence->token, "The token that fence printed")
          ->type_name("TOKEN");
  CLI::Option* force =
      unfence.add_flag("--force", unfence->force, "Without the token; wants a reason")
          ->excludes(token);
  unfence.add_option("--reason", unfence->reason, "Why, kept with the fence")
      ->needs(force)
      ->type_name("TEXT");
  unfence.add_database();
  unfence.add_output();
}

}  // namespace pgflow::cli
