// The verbs that only look: their facts in text and JSON, and what they say of things that are not
// there.
#include <regex>

#include "cli_support.hpp"
#include "supervisor/views.hpp"

using namespace pgflow;
using namespace pgflow::cli;
using namespace pgflow::test;

// What the database writes and what the types promise must be the same, key by key.
template <>
inline constexpr bool pgflow::json_strict<StatusView> = true;
template <>
inline constexpr bool pgflow::json_strict<FlowStatus> = true;
template <>
inline constexpr bool pgflow::json_strict<StepStatus> = true;
template <>
inline constexpr bool pgflow::json_strict<WorkerStatus> = true;
template <>
inline constexpr bool pgflow::json_strict<CoverageView> = true;
template <>
inline constexpr bool pgflow::json_strict<FlowCoverage> = true;
template <>
inline constexpr bool pgflow::json_strict<StepCoverage> = true;
template <>
inline constexpr bool pgflow::json_strict<RunView> = true;
template <>
inline constexpr bool pgflow::json_strict<RunStepView> = true;
template <>
inline constexpr bool pgflow::json_strict<TaskView> = true;
template <>
inline constexpr bool pgflow::json_strict<RunListView> = true;
template <>
inline constexpr bool pgflow::json_strict<RunSummary> = true;
template <>
inline constexpr bool pgflow::json_strict<MigrationsView> = true;

namespace {

constexpr const char* kLive = "00000000-0000-4000-8000-00000000000a";
constexpr const char* kStale = "00000000-0000-4000-8000-00000000000b";

}  // namespace

TEST_CASE("status tells queues, work in hand and history of each step", "[cli][status]") {
  FlowDatabase database;
  database.start(R"({"id":1})");
  database.start(R"({"id":2})");
  database.complete("classify", R"({"route":"help"})");
  database.fail("deliverSlack", "HTTP 500");
  database.start(R"({"id":3})");
  database.complete("classify", R"({"route":"other"})");
  database.start(R"({"id":4})");

  const Ended json = database.ask({"status", "-o", "json"});
  REQUIRE(json.exit_code == 0);
  const auto view = from_json<StatusView>(json.out);
  REQUIRE(view.flows.size() == 1);
  const FlowStatus& flow = view.flows[0];
  CHECK(flow.queue_mode == "step");
  CHECK(flow.runs.started == 1);
  CHECK(flow.runs.completed == 1);
  CHECK(flow.runs.failed == 2);
  REQUIRE(flow.steps.size() == 2);
  const StepStatus& classify = flow.steps[0];
  CHECK(classify.step == "classify");
  CHECK(classify.queue == "communitythreads__classify");
  CHECK(classify.ready == 1);
  CHECK(classify.in_flight == 0);
  CHECK(classify.oldest_seconds.has_value());
  CHECK(classify.tasks == 4);
  CHECK(classify.attempts == 3);
  CHECK(classify.completed == 3);
  CHECK(classify.queue_delay_seconds.p95.has_value());
  const StepStatus& deliver = flow.steps[1];
  CHECK(deliver.tasks == 2);
  CHECK(deliver.failed == 2);
  CHECK(deliver.skipped == 1);

  const Ended text = database.ask({"status"});
  CHECK(text.exit_code == 0);
  CHECK(contains(
      text.out, "communityThreads  a queue for each step  runs: 1 started, 1 completed, 2 failed"
  ));
  CHECK(contains(text.out, "communitythreads__deliverslack"));
  CHECK(text.err.empty());
}

TEST_CASE(
    "status tells a live worker from a stale, a deprecated and a stopped one", "[cli][status]"
) {
  FlowDatabase database;
  database.worker(kLive, "classify");
  database.worker(kStale, "deliverSlack", "1 minute");
  database.worker("00000000-0000-4000-8000-00000000000c", "classify");
  database->value("update pgflow.workers set deprecated_at = now() where worker_id::text like '%c'"
  );
  database.worker("00000000-0000-4000-8000-00000000000d", "classify");
  database->value("update pgflow.workers set stopped_at = now() where worker_id::text like '%d'");
  const auto view =
      from_json<StatusView>(database.ask({"status", "communityThreads", "-o", "json"}).out);
  REQUIRE(view.workers.size() == 4);
  std::string states;
  for (const WorkerStatus& worker : view.workers) {
    states += worker.worker_id.back() + std::string("=") + worker.state + " ";
    CHECK(worker.pid == 4711);
    CHECK(worker.flow == "communityThreads");
  }
  CHECK(contains(states, "a=live "));
  CHECK(contains(states, "b=stale "));
  CHECK(contains(states, "c=deprecated "));
  CHECK(contains(states, "d=stopped "));
}

TEST_CASE(
    "coverage is 1 while a step has no live worker, and 0 when each has one", "[cli][coverage]"
) {
  FlowDatabase database;
  database.worker(kLive, "classify");
  database.worker(kStale, "deliverSlack", "14 seconds");
  const Ended uncovered = database.ask({"coverage"});
  CHECK(uncovered.exit_code == 1);
  CHECK(contains(
      uncovered.out, "communityThreads   2 steps   1 covered   1 UNCOVERED   heartbeat threshold 6s"
  ));
  CHECK(std::regex_search(
      uncovered.out, std::regex("✓ +classify +communitythreads__classify +1 live worker ")
  ));
  CHECK(std::regex_search(
      uncovered.out, std::regex("✗ +deliverSlack .*0 live workers +0 stopped, 1 stale \\(1[45]")
  ));
  CHECK(contains(uncovered.err, "hint: start a worker for communityThreads/deliverSlack"));

  database.worker("00000000-0000-4000-8000-00000000000c", "deliverSlack");
  database.worker(kLive, "classify");
  const Ended covered = database.ask({"coverage", "communityThreads", "-o", "json"});
  CHECK(covered.exit_code == 0);
  const auto view = from_json<CoverageView>(covered.out);
  CHECK(view.covered);
  CHECK(view.threshold_seconds == 6);
  CHECK(view.flows.at(0).steps.at(1).stale == 1);
}

TEST_CASE("coverage --wait ends when the last step is covered, or with 124", "[cli][coverage]") {
  FlowDatabase database;
  database.worker(kLive, "classify");
  const Ended late = database.ask({"coverage", "--wait", "--timeout", "300ms"});
  CHECK(late.exit_code == 124);

  Process waiting(pgflow_command({"coverage", "--wait", "--timeout", "60s", "-d", database.url()}));
  eventually("it reports its progress", 20s, [&] {
    return contains(waiting.err(), "/2 steps covered");
  });
  database.worker(kLive, "classify");
  database.worker(kStale, "deliverSlack");
  CHECK(waiting.wait(20s) == 0);
}

TEST_CASE("coverage of nothing is never success", "[cli][coverage]") {
  FlowDatabase database;
  const Ended unknown = database.ask({"coverage", "communityThread"});
  CHECK(unknown.exit_code == 66);
  CHECK(contains(unknown.err, "Did you mean \"communityThreads\"?"));
  database.compile("plain", "flow");
  CHECK(database.ask({"coverage", "plain"}).exit_code == 64);
  Database empty;
  CHECK(run_pgflow({"coverage", "-d", empty.url()}).exit_code == 66);
}

TEST_CASE("run show draws the steps as a tree with their states, times and errors", "[cli][run]") {
  FlowDatabase database;
  const std::string run = database.start(R"({"id":12345678901234567890.5})");
  database.complete("classify", R"({"route":"help"})");
  database.fail("deliverSlack", "HTTP 429 from hooks.slack.com");
  const Ended text = database.ask({"run", "show", run.substr(0, 20)});
  REQUIRE(text.exit_code == 0);
  CHECK(contains(text.out, "run " + run + "  communityThreads  failed  started 20"));
  CHECK(std::regex_search(
      text.out, std::regex("\n  classify +completed +queued [^ ]+ +ran [^ ]+ +attempt 1/1\n")
  ));
  CHECK(std::regex_search(
      text.out,
      std::regex("\n  └ deliverSlack +failed .*attempt 1/1 +HTTP 429 from hooks.slack.com\n")
  ));
  const Ended json = database.ask({"run", "show", run, "-o", "json"});
  const auto view = from_json<RunView>(json.out);
  CHECK(view.run_id == run);
  CHECK(view.input->text == R"({"id":12345678901234567890.5})");  // not one digit lost
  REQUIRE(view.steps.size() == 2);
  CHECK(view.steps[1].depends_on == std::vector<std::string>{"classify"});
  CHECK(view.steps[1].error == "HTTP 429 from hooks.slack.com");
  CHECK(view.steps[1].tasks.at(0).worker_id == FlowDatabase::kWorker);
}

TEST_CASE("run show says why a step was skipped", "[cli][run]") {
  FlowDatabase database;
  const std::string run = database.start(R"({"id":1})");
  database.complete("classify", R"({"route":"other"})");
  const Ended text = database.ask({"run", "show", run});
  CHECK(std::regex_search(
      text.out, std::regex("└ deliverSlack +skipped +\\(its condition was not met\\)")
  ));
}

TEST_CASE("a run id that is none, fits none or fits two is told apart", "[cli][run]") {
  FlowDatabase database;
  for (const char* id :
       {"0aaa0000-0000-4000-8000-000000000001", "0aaa0000-0000-4000-8000-000000000002"}) {
    database->value(
        "select run_id from pgflow.start_flow('communityThreads', '{}', '" + std::string(id) + "')"
    );
  }
  CHECK(database.ask({"run", "show", "xyz!"}).exit_code == 64);
  CHECK(database.ask({"run", "show", "0b"}).exit_code == 64);
  const Ended ambiguous = database.ask({"run", "show", "0aaa"});
  CHECK(ambiguous.exit_code == 64);
  CHECK(contains(ambiguous.err, "several run ids"));
  CHECK(database.ask({"run", "show", "0AAA0000-0000-4000-8000-000000000002"}).exit_code == 0);
  const Ended none = database.ask({"run", "show", "0bbb"});
  CHECK(none.exit_code == 66);
  CHECK(contains(none.err, "hint: `pgflow run list`"));
}

TEST_CASE("run list is newest first, filtered and limited", "[cli][run]") {
  FlowDatabase database;
  const std::string first = database.start(R"({"id":1})");
  database.complete("classify", R"({"route":"other"})");
  const std::string second = database.start(R"({"id":2})");
  const auto all = from_json<RunListView>(database.ask({"run", "list", "-o", "json"}).out);
  REQUIRE(all.runs.size() == 2);
  CHECK(all.runs[0].run_id == second);
  CHECK(all.runs[0].remaining_steps == 2);
  const auto done = from_json<RunListView>(
      database.ask({"run", "list", "--status", "completed", "-o", "json"}).out
  );
  REQUIRE(done.runs.size() == 1);
  CHECK(done.runs[0].run_id == first);
  CHECK(done.runs[0].ended_at.has_value());
  CHECK(
      from_json<RunListView>(database.ask({"run", "list", "--limit", "1", "-o", "json"}).out)
          .runs.size() == 1
  );
  CHECK(database.ask({"run", "list", "--flow", "nope"}).exit_code == 66);
  CHECK(contains(database.ask({"run", "list"}).out, "2/2\n"));
}

TEST_CASE(
    "a database without the schema is 78 with the way to install it, and migrate up installs it",
    "[cli]"
) {
  const Server server = Server::shared();
  Database bare("template0", server);
  for (const std::vector<std::string>& verb : {
           std::vector<std::string>{"status"},
           std::vector<std::string>{"coverage"},
           std::vector<std::string>{"run", "list"},
           std::vector<std::string>{"run", "start", "communityThreads"},
       }) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"-d", bare.url()});
    const Ended ended = run_pgflow(arguments);
    CHECK(ended.exit_code == 78);
    CHECK(contains(ended.err, "error: The database has no schema pgflow."));
    CHECK(contains(ended.err, "pgflow migrate up"));
  }
  const Ended missing = run_pgflow({"migrate", "status", "-d", bare.url(), "-o", "json"});
  CHECK(missing.exit_code == 1);
  CHECK(from_json<MigrationsView>(missing.out).state == "none");
  const Ended up = run_pgflow({"migrate", "up", "-d", bare.url()});
  CHECK(up.exit_code == 0);
  CHECK(contains(up.out, "✓ 0001_baseline\n"));
  CHECK(contains(run_pgflow({"migrate", "up", "-d", bare.url()}).out, "up to date"));
  const Ended current = run_pgflow({"migrate", "status", "-d", bare.url(), "-o", "json"});
  CHECK(current.exit_code == 0);
  const auto view = from_json<MigrationsView>(current.out);
  CHECK(view.state == "current");
  CHECK(view.migrations.at(0).applied);
  CHECK(run_pgflow({"status", "-d", bare.url()}).exit_code == 0);
}

TEST_CASE("a schema of a newer program is left alone", "[cli]") {
  FlowDatabase database;
  database->value("insert into pgflow.schema_migrations values (9999, '9999_future', 'x')");
  CHECK(database.ask({"status"}).exit_code == 78);
  const Ended up = database.ask({"migrate", "up"});
  CHECK(up.exit_code == 78);
  CHECK(contains(up.err, "newer than this program"));
}
