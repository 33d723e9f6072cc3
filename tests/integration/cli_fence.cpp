// `pgflow fence`, `unfence` and `fence list`: a whole set stops, its holder lifts it, and
// everything else is refused with a hint.
#include "cli_support.hpp"
#include "supervisor/views.hpp"

using namespace pgflow;
using namespace pgflow::cli;
using namespace pgflow::test;

template <>
inline constexpr bool pgflow::json_strict<FenceView> = true;
template <>
inline constexpr bool pgflow::json_strict<FencedFunction> = true;
template <>
inline constexpr bool pgflow::json_strict<UnfenceView> = true;
template <>
inline constexpr bool pgflow::json_strict<UnfencedFunction> = true;
template <>
inline constexpr bool pgflow::json_strict<FenceListView> = true;
template <>
inline constexpr bool pgflow::json_strict<FenceListed> = true;
template <>
inline constexpr bool pgflow::json_strict<FencedFunctionNow> = true;
template <>
inline constexpr bool pgflow::json_strict<PendingSupervisor> = true;

namespace {

FenceView fenced(const FlowDatabase& database, std::vector<std::string> targets) {
  targets.insert(targets.begin(), "fence");
  targets.insert(targets.end(), {"--reason", "a deployment", "--owner", "ops", "-o", "json"});
  const Ended ended = database.ask(targets);
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  return from_json<FenceView>(ended.out);
}

std::string enabled(const FlowDatabase& database) {
  return database->value(
      "select string_agg(function_name || '=' || enabled, ' ' order by function_name) from "
      "pgflow.worker_functions"
  );
}

FenceListed listed(const FlowDatabase& database) {
  return from_json<FenceListView>(database.ask({"fence", "list", "-o", "json"}).out).fences.at(0);
}

}  // namespace

TEST_CASE("a flow is fenced with all its steps, and unfenced to what it was", "[cli][fence]") {
  FlowDatabase database;
  database->value("select pgflow.track_worker_function('communityThreads/deliverSlack', 'process')"
  );
  database->value(
      "update pgflow.worker_functions set enabled = false where function_name like "
      "'%/deliverSlack'"
  );
  database.worker(FlowDatabase::kWorker, "classify");
  const FenceView fence = fenced(database, {"communityThreads"});
  CHECK(fence.owner == "ops");
  CHECK(fence.reason == "a deployment");
  REQUIRE(fence.functions.size() == 2);
  CHECK(fence.functions[0].function == "communityThreads/classify");
  CHECK(fence.functions[0].was_enabled);
  CHECK_FALSE(fence.functions[1].was_enabled);
  CHECK(fence.workers_told == 1);
  CHECK(enabled(database) == "communityThreads/classify=false communityThreads/deliverSlack=false");
  CHECK(database->value("select deprecated_at is not null from pgflow.workers") == "t");
  // Who asks why nobody works is told of the fence, not to start workers.
  CHECK(
      contains(database.ask({"coverage"}).err, "communityThreads/classify is fenced: a deployment.")
  );

  const Ended ended = database.ask({"unfence", "communityThreads", "--token", fence.token});
  INFO(ended.err);
  CHECK(ended.exit_code == 0);
  CHECK(
      ended.out ==
      "communityThreads/classify      enabled\n"
      "communityThreads/deliverSlack  disabled\n"
  );
  CHECK(enabled(database) == "communityThreads/classify=true communityThreads/deliverSlack=false");
}

TEST_CASE("a worker's other name is fenced as well, where it serves now", "[cli][fence]") {
  FlowDatabase database;
  database.worker(FlowDatabase::kWorker, "classify");
  database->value("update pgflow.workers set function_name = 'named-by-hand'");
  database->value("select pgflow.register_worker(gen_random_uuid(), 'elsewhere', 'moved-away')");
  const FenceView fence = fenced(database, {"communityThreads/classify"});
  REQUIRE(fence.functions.size() == 2);
  CHECK(fence.functions[0].function == "communityThreads/classify");
  CHECK(fence.functions[1].function == "named-by-hand");
}

TEST_CASE("the token is printed once, and only it or a reason lifts the fence", "[cli][fence]") {
  FlowDatabase database;
  const Ended ended = database.ask({"fence", "communityThreads/classify", "--reason", "r42"});
  REQUIRE(ended.exit_code == 0);
  const std::string id = ended.out.substr(6, 36);
  CHECK(contains(ended.out, "fence " + id + "\ntoken "));
  CHECK(contains(ended.out, "  communityThreads/classify  was enabled\n"));
  const std::string token = ended.out.substr(ended.out.find("token ") + 6, 36);
  CHECK_FALSE(contains(database.ask({"fence", "list"}).out, token));

  const Ended wrong = database.ask({"unfence", id, "--token", "guess"});
  CHECK(wrong.exit_code == 77);
  CHECK(contains(wrong.err, "error: The token of fence " + id + " is another one."));
  CHECK(contains(wrong.err, "r42"));
  CHECK(contains(wrong.err, "hint: "));
  CHECK(enabled(database) == "communityThreads/classify=false");

  CHECK(database.ask({"unfence", id, "--force", "--reason", "on holiday"}).exit_code == 0);
  CHECK(enabled(database) == "communityThreads/classify=true");
  CHECK(contains(database.ask({"fence", "list"}).out, "No fence stands."));
  CHECK(contains(database.ask({"fence", "list", "--all"}).out, "forced: on holiday"));
}

TEST_CASE("of two fences each token lifts its own", "[cli][fence]") {
  FlowDatabase database;
  const FenceView one = fenced(database, {"communityThreads"});
  const FenceView two = fenced(database, {"communityThreads/classify"});
  const Ended first = database.ask({"unfence", "communityThreads", "--token", one.token});
  CHECK(first.exit_code == 0);
  CHECK(
      first.out ==
      "communityThreads/classify      inside another fence\n"
      "communityThreads/deliverSlack  enabled\n"
  );
  CHECK(listed(database).fence_id == two.fence_id);
  const Ended second = database.ask({"unfence", two.fence_id, "--token", two.token, "-o", "json"});
  CHECK(second.exit_code == 0);
  const auto view = from_json<UnfenceView>(second.out);
  CHECK(view.fences == std::vector<std::string>{two.fence_id});
  CHECK(view.functions.at(0).enabled);
}

TEST_CASE(
    "fence --wait returns when nothing of it runs, and else names who is missing", "[cli][fence]"
) {
  FlowDatabase database;
  database->value(
      "select count(*) from pgflow.supervisor_heartbeat('00000000-0000-4000-8000-00000000000a', "
      "'prod-a', 'web1', 812, array['communityThreads/classify'])"
  );
  database->value("update pgflow.supervisors set last_seen_at = clock_timestamp() + interval '1 h'"
  );
  database.start(R"({"text":"?"})");
  database.worker(FlowDatabase::kWorker, "classify");
  database->value(
      "select count(*) from pgflow.read_and_claim('communitythreads__classify', "
      "'communityThreads', 'classify', '" +
      std::string(FlowDatabase::kWorker) + "', 1)"
  );
  const Ended late =
      database.ask({"fence", "communityThreads", "--reason", "r42", "--wait", "--timeout", "300ms"}
      );
  CHECK(late.exit_code == 124);
  CHECK(contains(late.out, "token "));
  CHECK(contains(late.err, "supervisor prod-a (pid 812 on web1) has not acknowledged"));
  CHECK(contains(late.err, "communityThreads/classify: 0 live workers, 1 task in hand"));
  const FenceListed fence = listed(database);
  CHECK_FALSE(fence.quiet.value());
  CHECK(fence.pending_supervisors.at(0).name == "prod-a");
  CHECK(fence.functions.at(0).draining_workers == 1);

  // The worker gives its task back, the supervisor acknowledges both fences.
  database->value("select pgflow.release_tasks('" + std::string(FlowDatabase::kWorker) + "')");
  Process waiting(pgflow_command(
      {"fence",
       "communityThreads/classify",
       "--reason",
       "again",
       "--wait",
       "--timeout",
       "30s",
       "-d",
       database.url()}
  ));
  eventually("the second fence stands", 10s, [&] {
    return database->value("select count(*) from pgflow.fences") == "2";
  });
  CHECK(waiting.running());
  database->rows(
      "select pgflow.ack_fence(fence_id, '00000000-0000-4000-8000-00000000000a') from "
      "pgflow.fences"
  );
  CHECK(waiting.wait(20s) == 0);
}

TEST_CASE("what cannot be fenced or unfenced is said with a hint", "[cli][fence]") {
  FlowDatabase database;
  database.compile("plain", "flow");
  struct Wrong {
    std::vector<std::string> arguments;
    int exit_code;
    std::string error, hint;
  };
  const std::string unknown = "00000000-0000-4000-8000-0000000000ff";
  const std::vector<Wrong> all = {
      {{"fence"}, 64, "fence what?", "pgflow fence FLOW"},
      {{"fence", "communityThreads"}, 64, "a fence needs a reason", "--reason"},
      {{"fence", "comunityThreads", "--reason", "x"},
       66,
       "no flow \"comunityThreads\"",
       "Did you mean \"communityThreads\"?"},
      {{"fence", "communityThreads/clasify", "--reason", "x"},
       66,
       "has no step \"clasify\"",
       "Did you mean \"classify\"?"},
      {{"fence", "plain/classify", "--reason", "x"}, 64, "no workers for one step", "plain"},
      {{"unfence", "communityThreads"}, 64, "with which token?", "--force"},
      {{"unfence", "communityThreads", "--force"}, 64, "needs a reason", "--reason"},
      {{"unfence", "communityThreads", "--token", "x"},
       66,
       "no fence stands around",
       "pgflow fence list"},
      {{"unfence", unknown, "--token", "x"}, 66, "There is no fence " + unknown, "pgflow.fences"},
  };
  for (const Wrong& wrong : all) {
    const Ended ended = database.ask(wrong.arguments);
    INFO(ended.err);
    CHECK(ended.exit_code == wrong.exit_code);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, wrong.error));
    CHECK(contains(ended.err, "hint: "));
    CHECK(contains(ended.err, wrong.hint));
  }
  CHECK(database->value("select count(*) from pgflow.fences") == "0");
}
