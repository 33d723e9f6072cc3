// The verbs about runs, tasks, queues and workers, and about the config file: what they show, what
// they change, and that they leave alone what they only look at.
#include <fstream>

#include "cli_support.hpp"
#include "supervisor/views.hpp"

using namespace pgflow;
using namespace pgflow::cli;
using namespace pgflow::test;

template <>
inline constexpr bool pgflow::json_strict<RunFact> = true;
template <>
inline constexpr bool pgflow::json_strict<TaskListView> = true;
template <>
inline constexpr bool pgflow::json_strict<TaskListed> = true;
template <>
inline constexpr bool pgflow::json_strict<TaskRequeueView> = true;
template <>
inline constexpr bool pgflow::json_strict<TaskRequeued> = true;
template <>
inline constexpr bool pgflow::json_strict<QueueListView> = true;
template <>
inline constexpr bool pgflow::json_strict<QueueListed> = true;
template <>
inline constexpr bool pgflow::json_strict<QueuePeekView> = true;
template <>
inline constexpr bool pgflow::json_strict<MessageListed> = true;
template <>
inline constexpr bool pgflow::json_strict<WorkerListView> = true;
template <>
inline constexpr bool pgflow::json_strict<WorkerListed> = true;
template <>
inline constexpr bool pgflow::json_strict<TaskInHandView> = true;

namespace {

// What a verb prints as JSON.
template <class View>
View shown(const FlowDatabase& database, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-o", "json"});
  const Ended ended = database.ask(arguments);
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  return from_json<View>(ended.out);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

void claim(const FlowDatabase& database) {
  database.worker(FlowDatabase::kWorker, "classify");
  database->value(
      "select count(*) from pgflow.read_and_claim('communitythreads__classify', "
      "'communityThreads', 'classify', '" +
      std::string(FlowDatabase::kWorker) + "', 10)"
  );
}

}  // namespace

TEST_CASE("a rerun is a new run with the same input, or another one", "[cli][things]") {
  FlowDatabase database;
  const std::string first = database.start(R"({"text": "How?"})");
  const auto again = shown<RunStatesView>(database, {"run", "rerun", first});
  REQUIRE(again.runs.size() == 1);
  CHECK(again.runs[0].run_id != first);
  CHECK(again.runs[0].status == "started");
  const std::string input = "select input ->> 'text' from pgflow.runs where run_id = '";
  CHECK(database->value(input + again.runs[0].run_id + "'") == "How?");
  const auto other =
      shown<RunStatesView>(database, {"run", "rerun", first, "--input", R"({"text":"Why?"})"});
  CHECK(database->value(input + other.runs[0].run_id + "'") == "Why?");
  CHECK(database.ask({"run", "rerun", "0000"}).exit_code == 66);
}

TEST_CASE("a cancelled run is failed and its tasks carry the reason", "[cli][things]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  const auto ended = shown<RunStatesView>(database, {"run", "cancel", run, "--reason", "mistake"});
  CHECK(ended.runs.at(0).status == "failed");
  CHECK(database->value("select error_message from pgflow.step_tasks") == "mistake");
  CHECK(database->value("select count(*) from pgmq.q_communitythreads__classify") == "0");

  database.start("{}");
  database.complete("classify", R"({"route":"other"})");
  const std::string completed =
      database->value("select run_id from pgflow.runs where status = 'completed'");
  const auto unchanged = shown<RunStatesView>(database, {"run", "cancel", completed});
  CHECK(unchanged.runs.at(0).status == "completed");
}

TEST_CASE("all started runs of a flow are cancelled only after a yes", "[cli][things]") {
  FlowDatabase database;
  database.start("{}");
  database.start("{}");
  const std::vector<std::string> verb{
      "run", "cancel", "--flow", "communityThreads", "--status", "started"
  };
  const Ended asked = database.ask(verb);
  CHECK(asked.exit_code == 64);
  CHECK(contains(asked.err, "error: this would cancel 2 runs of communityThreads"));
  CHECK(contains(asked.err, "hint: --yes"));
  CHECK(database->value("select count(*) from pgflow.runs where status = 'started'") == "2");
  auto sure = verb;
  sure.emplace_back("--yes");
  CHECK(shown<RunStatesView>(database, sure).counts.failed == 2);
  CHECK(shown<RunStatesView>(database, sure).runs.empty());
  CHECK(contains(
      database->value("select error_message from pgflow.step_tasks limit 1"), "cancelled by "
  ));
  CHECK(database.ask({"run", "cancel"}).exit_code == 64);
}

TEST_CASE("tail tells each change of a run once, and ends with it", "[cli][things]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  Process tail(pgflow_command({"run", "tail", run, "-o", "jsonl", "-d", database.url()}));
  eventually("what has happened is told", 10s, [&] { return contains(tail.out(), "classify"); });
  database.complete("classify", R"({"route":"help"})");
  eventually("what happens is told", 10s, [&] { return contains(tail.out(), "deliverSlack"); });
  CHECK(tail.running());
  database.fail("deliverSlack", "HTTP 429");
  CHECK(tail.wait(20s) == 1);

  std::vector<std::string> told;
  for (const std::string& line : lines(tail.out())) {
    const auto fact = from_json<RunFact>(line);
    CHECK(fact.run_id == run);
    told.push_back(fact.kind + " " + fact.step.value_or("-") + " " + fact.status);
  }
  const std::vector<std::string> all = {
      "run - started",
      "step classify started",
      "task classify completed",
      "step classify completed",
      "step deliverSlack started",
      "task deliverSlack failed",
      "step deliverSlack failed",
      "run - failed",
  };
  for (const std::string& fact : all) {
    INFO(fact);
    CHECK(std::ranges::count(told, fact) == 1);
  }
  CHECK(told.front() == all.front());
  CHECK(told.back() == all.back());

  const Ended text = database.ask({"run", "tail", run});
  CHECK(text.exit_code == 1);
  CHECK(contains(text.out, "deliverSlack[0]  failed  attempt 1  HTTP 429\n"));
  const std::string other = database.start("{}");
  CHECK(database.ask({"run", "tail", other, "--timeout", "50ms"}).exit_code == 124);
}

TEST_CASE("the tasks of a run are listed, all or those in one state", "[cli][things]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  database.complete("classify", R"({"route":"help"})");
  const auto all = shown<TaskListView>(database, {"task", "list", "--run", run.substr(0, 35)});
  REQUIRE(all.tasks.size() == 2);
  CHECK(all.tasks[0].step == "classify");
  CHECK(all.tasks[0].status == "completed");
  CHECK(all.tasks[0].worker_id == FlowDatabase::kWorker);
  CHECK(all.tasks[1].status == "queued");
  CHECK(all.tasks[1].max_attempts == 1);
  const Ended queued =
      database.ask({"task", "list", "--run", run, "--status", "queued", "-o", "jsonl"});
  REQUIRE(lines(queued.out).size() == 1);
  CHECK(from_json<TaskListed>(queued.out).step == "deliverSlack");
  CHECK(contains(database.ask({"task", "list", "--run", run}).out, "classify[0]      completed"));
}

TEST_CASE("a task that stalled for good is given back, and only such a task", "[cli][things]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  const std::string other = database.start("{}");
  claim(database);
  CHECK(contains(database.ask({"task", "requeue", "--all"}).out, "No task has stalled."));
  database->value(
      "update pgflow.step_tasks set permanently_stalled_at = now(), requeued_count = 3 where "
      "run_id "
      "= '" +
      run + "'"
  );
  CHECK(contains(database.ask({"task", "list", "--run", run}).out, "stalled"));
  CHECK(shown<TaskRequeueView>(database, {"task", "requeue", "--run", other}).tasks.empty());
  const auto given =
      shown<TaskRequeueView>(database, {"task", "requeue", "--flow", "communityThreads"});
  REQUIRE(given.tasks.size() == 1);
  CHECK(given.tasks[0].run_id == run);
  CHECK(given.tasks[0].outcome == "applied");
  CHECK(
      database->value("select status from pgflow.step_tasks where run_id = '" + run + "'") ==
      "queued"
  );
  CHECK(database.ask({"task", "requeue"}).exit_code == 64);
}

TEST_CASE("queues are listed with what lies in them", "[cli][things]") {
  FlowDatabase database;
  database.start("{}");
  database.start("{}");
  const auto all = shown<QueueListView>(database, {"queue", "list"});
  REQUIRE(all.queues.size() == 2);
  CHECK(all.queues[0].queue == "communitythreads__classify");
  CHECK(all.queues[0].steps == std::vector<std::string>{"classify"});
  CHECK(all.queues[0].messages == 2);
  CHECK(all.queues[0].visible == 2);
  CHECK(all.queues[0].queued_tasks == 2);
  CHECK(all.queues[1].messages == 0);
  CHECK_FALSE(all.queues[1].oldest_seconds.has_value());
  const auto one =
      shown<QueueListView>(database, {"queue", "show", "communitythreads__deliverslack"});
  REQUIRE(one.queues.size() == 1);
  CHECK(one.queues[0].flow == "communityThreads");
  const Ended wrong = database.ask({"queue", "show", "communitythreads__clasify"});
  CHECK(wrong.exit_code == 66);
  CHECK(contains(wrong.err, "Did you mean \"communitythreads__classify\"?"));

  database->value("select pgmq.drop_queue('communitythreads__deliverslack')");
  CHECK(contains(database.ask({"queue", "list"}).out, "communitythreads__deliverslack (dropped)"));
  const Ended dropped = database.ask({"queue", "peek", "communitythreads__deliverslack"});
  CHECK(dropped.exit_code == 66);
  CHECK(contains(dropped.err, "restore_queues"));
}

TEST_CASE("peek shows messages in their order, touches none and tells no body", "[cli][things]") {
  FlowDatabase database;
  const std::string run = database.start(R"({"secret": "hunter2"})");
  database.start("{}");
  claim(database);
  const std::string stranger =
      database->value("select pgmq.send('communitythreads__classify', '{\"secret\": \"hunter2\"}')"
      );
  const std::string state =
      "select string_agg(concat_ws('|', msg_id, read_ct, vt), ',' order by msg_id) from "
      "pgmq.q_communitythreads__classify";
  const std::string before = database->value(state);
  const auto peeked =
      shown<QueuePeekView>(database, {"queue", "peek", "communitythreads__classify"});
  CHECK(database->value(state) == before);
  REQUIRE(peeked.messages.size() == 3);
  CHECK(peeked.messages[0].message_id == stranger);
  CHECK(peeked.messages[0].visible);
  CHECK_FALSE(peeked.messages[0].run_id.has_value());
  CHECK(peeked.messages[1].run_id == run);
  CHECK(peeked.messages[1].read_count == 1);
  CHECK_FALSE(peeked.messages[1].visible);
  CHECK(peeked.messages[1].task_status == "started");
  const Ended text = database.ask({"queue", "peek", "communitythreads__classify", "-n", "2"});
  CHECK(contains(text.out, "no task knows it"));
  CHECK(lines(text.out).size() == 3);
  CHECK_FALSE(contains(text.out, "hunter2"));
}

TEST_CASE("workers are listed with their state and shown with their tasks", "[cli][things]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  claim(database);
  database.worker("00000000-0000-4000-8000-000000000002", "deliverSlack", "10 seconds");
  database.worker("00000000-0000-4000-8000-000000000003", "deliverSlack");
  database->value("select pgflow.mark_worker_stopped('00000000-0000-4000-8000-000000000003')");
  const auto alive = shown<WorkerListView>(database, {"worker", "list"});
  REQUIRE(alive.workers.size() == 2);
  CHECK(alive.workers[0].state == "live");
  CHECK(alive.workers[0].step == "classify");
  CHECK(alive.workers[0].tasks.at(0).run_id == run);
  CHECK(alive.workers[1].state == "stale");
  CHECK(shown<WorkerListView>(database, {"worker", "list", "--all"}).workers.size() == 3);
  const auto one = shown<WorkerListed>(database, {"worker", "show", FlowDatabase::kWorker});
  CHECK(one.pid == 4711);
  CHECK(one.revision == "r1");
  CHECK(contains(
      database.ask({"worker", "show", FlowDatabase::kWorker}).out,
      "in hand    run " + run + "  classify[0]  attempt 1"
  ));
  CHECK(database.ask({"worker", "show", "ffff"}).exit_code == 66);
  CHECK(database.ask({"worker", "show", "0000"}).exit_code == 64);
}

TEST_CASE(
    "config show tells where each value comes from, and hides what may be secret", "[cli][things]"
) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  std::ofstream(file) << "{\n  \"version\": 1,\n  \"supervisor\": {\"kill_margin\": \"7s\"},\n"
                         "  \"flows\": [{\n    \"slug\": \"f\",\n    \"worker\": {\"command\": "
                         "[\"/bin/true\", \"-x\"],\n      \"env\": {\"TOKEN\": \"hunter2\", "
                         "\"OTHER\": {\"from_env\": \"PLACE\"}}},\n    \"steps\": {\"a\": "
                         "{\"processes\": 2}}}]\n}\n";
  const Ended text = run_pgflow({"config", "show", "-c", file});
  INFO(text.out);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "supervisor.kill_margin "));
  CHECK(contains(text.out, file + ":3"));
  CHECK_FALSE(contains(text.out, "shutdown_deadline"));
  CHECK_FALSE(contains(text.out, "hunter2"));

  const Ended effective = run_pgflow(
      {"config", "show", "-c", file, "--effective", "-o", "json"},
      {{"DATABASE_URL", "postgresql://app:secret@db/app"}}
  );
  const auto view = from_json<ConfigShowView>(effective.out);
  const auto at = [&](const std::string& key) {
    for (const auto& row : view.values) {
      if (row.key == key) return row.value + " from " + row.source;
    }
    return std::string("absent");
  };
  CHECK(at("supervisor.kill_margin") == "7s from " + file + ":3");
  CHECK(at("supervisor.shutdown_deadline") == "25s from default");
  CHECK(at("flows[0].worker.command") == "/bin/true -x from " + file + ":6");
  CHECK(at("flows[0].worker.env.OTHER") == "from PLACE from " + file + ":7");
  CHECK(at("flows[0].steps.a.processes") == "2 from " + file + ":8");
  CHECK(at("flows[0].steps.a.max_concurrent") == "10 from default");
  CHECK(at("flows[0].max_concurrent") == "absent");
  CHECK(at("flows[0].processes") == "absent");
  CHECK(contains(at("database.url"), "app@db"));
  CHECK(contains(at("database.url"), " from DATABASE_URL"));
  CHECK_FALSE(contains(effective.out, "secret"));
  CHECK(run_pgflow({"config", "show", "-c", folder.path() + "/none.json"}).exit_code == 66);
}

TEST_CASE("config schema prints the published schema of config files", "[cli][things]") {
  CHECK(
      run_pgflow({"config", "schema"}).out ==
      read_file(PGFLOW_SOURCE_DIR "/config/pgflow.schema.json")
  );
}
