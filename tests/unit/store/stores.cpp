// Each function of the SQL API through its C++ door: a flow of two steps from its definition to the
// end of its run.
#include <algorithm>

#include "json/value.hpp"
#include "session.hpp"
#include "store/flow_store.hpp"
#include "store/run_store.hpp"
#include "store/task_store.hpp"
#include "store/worker_store.hpp"

using namespace pgflow;
using namespace std::chrono_literals;
using test::Session;

namespace {

const char kShape[] = R"({"steps": [
  {"slug": "first", "stepType": "single", "dependencies": [], "whenUnmet": "skip", "whenExhausted": "fail",
   "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": false}},
  {"slug": "second", "stepType": "single", "dependencies": ["first"], "whenUnmet": "skip", "whenExhausted": "fail",
   "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": false}}],
  "options": {"maxAttempts": 2, "baseDelay": 1, "timeout": 30}})";

store::CompileRequest request() {
  return {
      .flow_slug = "pair",
      .shape = kShape,
      .queue_mode = QueueMode::step,
      .routes = {{"first", 0, "pair__first"}, {"second", 1, "pair__second"}},
  };
}

// The flow `pair` is compiled and `worker` serves its step `first`.
struct PairSession : Session {
  PairSession() : Session("pgflow_template") {
    test::value_of(compile(request()));
    test::value_of(register_worker("pair__first"));
  }

  Result<store::CompileOutcome> compile(const store::CompileRequest& wanted) {
    return ask<store::CompileOutcome>([&](auto done) { flows.ensure_compiled(wanted, done); });
  }
  Result<void> register_worker(const std::string& queue) {
    return ask<void>([&](auto done) {
      workers.register_worker(
          {.worker_id = worker,
           .queue_name = queue,
           .function_name = "pair/first",
           .pid = 4242,
           .revision = "r1"},
          done
      );
    });
  }
  RunId start(const std::string& input) {
    const auto run =
        test::value_of(ask<store::RunRow>([&](auto done) { runs.start({"pair", input}, done); }));
    CHECK(run.status == "started");
    return run.run_id;
  }
  Result<store::ClaimAnswer> claim(
      const std::string& step, int quantity, bool with_flow_input = false
  ) {
    return ask<store::ClaimAnswer>([&](auto done) {
      tasks.read_and_claim(
          {.queue_name = "pair__" + step,
           .flow_slug = "pair",
           .step_slug = step,
           .worker_id = worker,
           .quantity = quantity,
           .with_flow_input = with_flow_input},
          done
      );
    });
  }
  Result<std::vector<store::Settled>> complete(const std::vector<store::Completion>& items) {
    return ask<std::vector<store::Settled>>([&](auto done) { tasks.complete(items, worker, done); }
    );
  }
  Result<std::vector<store::Settled>> fail(const std::vector<store::Failure>& items) {
    return ask<std::vector<store::Settled>>([&](auto done) { tasks.fail(items, worker, done); });
  }
  std::vector<store::TaskRow> tasks_of(RunId run) {
    return ask<std::vector<store::TaskRow>>([&](auto done) { runs.tasks(run, done); }).value();
  }

  store::FlowStore flows{connection};
  store::RunStore runs{connection};
  store::TaskStore tasks{connection};
  store::WorkerStore workers{connection};
  WorkerId worker = WorkerId::random();
};

store::TaskKey key_of(const store::ClaimedTask& task) {
  return {task.run_id, task.step_slug, task.task_index};
}

}  // namespace

TEST_CASE("a flow is compiled once, then verified, and a difference is told", "[store][flow]") {
  PairSession s;
  CHECK(s.compile(request())->status == store::CompileStatus::verified);

  auto other = request();
  other.shape = R"({"steps": [{"slug": "first"}]})";
  other.routes = {{"first", 0, "pair__first"}};
  const auto mismatch = s.compile(other);
  REQUIRE(mismatch);
  CHECK(mismatch->status == store::CompileStatus::mismatch);
  CHECK(mismatch->mismatch_kind == store::MismatchKind::shape);
  CHECK(mismatch->differences.front() == "Step count differs: 1 vs 2");
  const Error error = store::mismatch_error("pair", *mismatch);
  CHECK(error.kind == "flow_shape_mismatch");
  CHECK(error.detail.find("Step count differs: 1 vs 2") != std::string::npos);

  auto routed = request();
  routed.queue_mode = QueueMode::flow;
  routed.routes.clear();
  CHECK(s.compile(routed)->mismatch_kind == store::MismatchKind::routing);
}

TEST_CASE("a wrong route map is refused with PostgreSQL's own error", "[store][flow]") {
  PairSession s;
  auto wrong = request();
  wrong.routes[1].queue_name = "elsewhere";
  const auto outcome = s.compile(wrong);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().kind == "route_map_entry");
  CHECK_FALSE(outcome.error().hint.empty());
}

TEST_CASE("flows are listed, and coverage counts live workers", "[store][flow]") {
  PairSession s;
  const auto flows = s.ask<std::vector<store::FlowSummary>>([&](auto done) { s.flows.list(done); });
  REQUIRE(flows);
  REQUIRE(flows->size() == 1);
  CHECK(flows->front().slug == "pair");
  CHECK(flows->front().queue_mode == QueueMode::step);
  CHECK(flows->front().steps == 2);
  CHECK(flows->front().created_at.ends_with("Z"));

  const auto coverage =
      s.ask<std::vector<store::RouteCoverage>>([&](auto done) { s.flows.coverage("pair", done); });
  REQUIRE(coverage);
  REQUIRE(coverage->size() == 2);
  CHECK(coverage->at(0).covered);
  CHECK(coverage->at(0).live_workers == 1);
  CHECK(coverage->at(1).step_slug == "second");
  CHECK_FALSE(coverage->at(1).covered);
  const auto none = s.ask<std::vector<store::RouteCoverage>>([&](auto done) {
    s.flows.coverage("nobody", done);
  });
  CHECK(none->empty());
}

TEST_CASE("a run goes through both steps, its JSON untouched", "[store][task]") {
  PairSession s;
  const std::string input = R"({"id": 12345678901234567890123, "text": "Žluť \" \\"})";
  const RunId run = s.start(input);

  const auto first = s.claim("first", 5, true);
  REQUIRE(first);
  REQUIRE(first->tasks.size() == 1);
  CHECK(first->others.empty());
  const store::ClaimedTask& task = first->tasks.front();
  CHECK(task.run_id == run);
  CHECK(task.step_slug == "first");
  CHECK(task.attempt == 1);
  CHECK(task.max_attempts == 2);
  CHECK(task.timeout == 30s);
  CHECK(task.input == "{}");  // a root step reads the run's input
  CHECK(task.flow_input == input);

  const std::vector<store::Completion> done = {
      {key_of(task), task.attempt, R"({"n": 1e100, "s": "\u0001"})"}
  };
  const auto settled = s.complete(done);
  REQUIRE(settled);
  REQUIRE(settled->size() == 1);
  CHECK(settled->front().task == key_of(task));
  CHECK(settled->front().outcome == store::SettleOutcome::applied);
  CHECK(s.complete(done)->front().outcome == store::SettleOutcome::already);

  const auto second = s.claim("second", 1);
  REQUIRE(second);
  REQUIRE(second->tasks.size() == 1);
  const auto outputs = test::value_of(json::parse(second->tasks.front().input));
  REQUIRE(outputs.find("first") != nullptr);
  CHECK(outputs.find("first")->find("s")->text == "\x01");
  REQUIRE(s.complete({{key_of(second->tasks.front()), 1, "null"}}));

  const auto found = s.ask<std::optional<store::RunRow>>([&](auto ask) { s.runs.find(run, ask); });
  REQUIRE(found);
  REQUIRE(found->has_value());
  CHECK((*found)->status == "completed");
  CHECK((*found)->remaining_steps == 0);
  CHECK((*found)->ended_at->ends_with("Z"));
  CHECK((*found)->output == R"({"second": null})");
}

TEST_CASE(
    "a failure is retried, a permanent one ends the run, and odd bytes do not stop it",
    "[store][task]"
) {
  PairSession s;
  const RunId run = s.start("{}");
  const auto claimed = s.claim("first", 1)->tasks.front();
  const std::string odd("no\0 luck \xff\n", 11);
  const auto settled = s.fail({{key_of(claimed), claimed.attempt, odd}});
  REQUIRE(settled);
  CHECK(settled->front().outcome == store::SettleOutcome::applied);
  auto tasks = s.tasks_of(run);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks.front().status == "queued");
  CHECK(tasks.front().attempts == 1);
  CHECK(tasks.front().max_attempts == 2);
  CHECK(tasks.front().error_message == "no  luck \xEF\xBF\xBD\n");

  s.database.rows("select pgmq.set_vt('pair__first', message_id, 0) from pgflow.step_tasks");
  const auto again = s.claim("first", 1)->tasks.front();
  CHECK(again.attempt == 2);
  CHECK(
      s.fail({{key_of(again), 1, "a zombie's word"}})->front().outcome !=
      store::SettleOutcome::applied
  );
  CHECK(
      s.fail({{key_of(again), 2, "gone", true}})->front().outcome == store::SettleOutcome::applied
  );
  tasks = s.tasks_of(run);
  CHECK(tasks.front().status == "failed");
  CHECK(tasks.front().error_message == "gone");
  CHECK(tasks.front().last_worker_id == s.worker);
}

TEST_CASE("messages that are not ours are named with their reason", "[store][task]") {
  PairSession s;
  s.start("1");
  s.database.rows("select pgmq.send('pair__first', '{}'::jsonb, 0)");
  const auto answer = s.claim("first", 10);
  REQUIRE(answer);
  CHECK(answer->tasks.size() == 1);
  REQUIRE(answer->others.size() == 1);
  CHECK(answer->others.front().why == store::Unclaimed::unknown);
  CHECK(name(answer->others.front().why) == "unknown");
}

TEST_CASE("released tasks are as if they had never been claimed", "[store][task]") {
  PairSession s;
  const RunId run = s.start("1");
  s.start("2");
  const auto claimed = s.claim("first", 2);
  REQUIRE(claimed->tasks.size() == 2);
  const std::vector<MessageId> one = {claimed->tasks.front().msg_id};
  CHECK(s.ask<int>([&](auto done) { s.tasks.release(s.worker, one, done); }).value() == 1);
  CHECK(s.ask<int>([&](auto done) { s.tasks.release(s.worker, done); }).value() == 1);
  CHECK(s.ask<int>([&](auto done) { s.tasks.release(s.worker, done); }).value() == 0);
  CHECK(s.tasks_of(run).front().attempts == 0);
  CHECK(s.claim("first", 2)->tasks.size() == 2);
}

TEST_CASE("a worker beats, is listed, and is gone after its goodbye", "[store][worker]") {
  PairSession s;
  REQUIRE(s.register_worker("pair__first"));  // again: its answer was lost
  const auto beat = [&] {
    return s.ask<store::Heartbeat>([&](auto done) { s.workers.heartbeat(s.worker, {}, done); }
    ).value();
  };
  CHECK(beat().known);
  CHECK_FALSE(beat().deprecated);
  CHECK(beat().enabled);
  s.database.rows("update pgflow.workers set deprecated_at = now()");
  CHECK(beat().deprecated);
  s.database.rows(
      "update pgflow.workers set deprecated_at = null; update pgflow.worker_functions set enabled "
      "= false"
  );
  CHECK_FALSE(beat().enabled);

  const auto list = [&](bool all) {
    return s.ask<std::vector<store::WorkerRow>>([&](auto done) { s.workers.list(all, done); }
    ).value();
  };
  REQUIRE(list(false).size() == 1);
  const store::WorkerRow row = list(false).front();
  CHECK(row.worker_id == s.worker);
  CHECK(row.queue_name == "pair__first");
  CHECK(row.state == store::WorkerState::live);
  CHECK(row.pid == 4242);
  CHECK(row.revision == "r1");
  CHECK(row.host_id == std::nullopt);
  s.database.rows("update pgflow.workers set last_heartbeat_at = now() - interval '1 minute'");
  CHECK(list(false).front().state == store::WorkerState::silent);
  CHECK(list(false).front().heartbeat_age_seconds > 59);

  REQUIRE(s.ask<void>([&](auto done) { s.workers.mark_stopped(s.worker, done); }));
  CHECK_FALSE(beat().known);
  CHECK(list(false).empty());
  CHECK(list(true).front().state == store::WorkerState::stopped);
}

TEST_CASE("a heartbeat tells which tasks are in hand no more", "[store][worker]") {
  PairSession s;
  const RunId cancelled = s.start("1"), wanted = s.start("2");
  const auto claimed = s.claim("first", 2)->tasks;
  REQUIRE(claimed.size() == 2);
  std::vector<store::TaskInHand> in_hand;
  for (const auto& task : claimed) in_hand.push_back({task.msg_id, task.attempt});
  const auto lost = [&] {
    return s.ask<store::Heartbeat>([&](auto done) { s.workers.heartbeat(s.worker, in_hand, done); })
        .value()
        .lost;
  };
  CHECK(lost().empty());
  s.database.rows("select pgflow.cancel_run('" + cancelled.text() + "')");
  const auto& its_task = claimed.front().run_id == cancelled ? in_hand.front() : in_hand.back();
  CHECK(lost() == std::vector{its_task});
  s.database.rows("select pgflow.cancel_run('" + wanted.text() + "')");
  CHECK(lost() == in_hand);
}

TEST_CASE("a dead worker's guilty task is charged, its neighbour is not", "[store][worker]") {
  PairSession s;
  const RunId guilty_run = s.start("1"), innocent_run = s.start("2");
  const auto claimed = s.claim("first", 2)->tasks;
  REQUIRE(claimed.size() == 2);
  const auto guilty = std::find_if(claimed.begin(), claimed.end(), [&](const auto& t) {
    return t.run_id == guilty_run;
  });
  const auto release = [&] {
    return s.ask<int>([&](auto done) {
      s.workers.release(
          {.worker_id = s.worker, .reason = "killed by signal 11", .guilty = {guilty->msg_id}}, done
      );
    });
  };
  CHECK(release().value() == 2);
  const auto charged = s.tasks_of(guilty_run).front(), spared = s.tasks_of(innocent_run).front();
  CHECK(charged.attempts == 1);
  CHECK(charged.crashes == 1);
  CHECK(charged.error_message == "killed by signal 11");
  CHECK(spared.attempts == 0);
  CHECK(spared.crashes == 0);
  CHECK(spared.requeued == 0);
  CHECK(release().value() == 0);
}

TEST_CASE("many runs start in one statement, in order, or none", "[store][run]") {
  PairSession s;
  const std::vector<std::string> inputs = {R"({"n": 0})", R"("two")", "[3]", "null"};
  const std::vector<RunId> ids = {
      RunId::random(), RunId::random(), RunId::random(), RunId::random()
  };
  REQUIRE(s.ask<void>([&](auto done) { s.runs.start_many("pair", inputs, ids, done); }));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CHECK(
        s.database.value(
            "select input from pgflow.runs where run_id = '" + ids.at(i).text() + "'"
        ) == inputs[i]
    );
  }
  const std::vector<std::string> broken = {"1", "{"};
  const std::vector<RunId> others = {RunId::random(), RunId::random()};
  const auto failed =
      s.ask<void>([&](auto done) { s.runs.start_many("pair", broken, others, done); });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().sqlstate == "22P02");
  CHECK(s.database.value("select count(*) from pgflow.runs") == "4");
}

TEST_CASE("a start that is asked twice with one id happens once", "[store][run]") {
  PairSession s;
  const RunId id = RunId::time_ordered();
  const auto start = [&] {
    return s.ask<store::RunRow>([&](auto done) { s.runs.start({"pair", "1", id}, done); });
  };
  CHECK(start()->run_id == id);
  CHECK(start().error().kind == "runs_pkey");
  const auto unknown =
      s.ask<store::RunRow>([&](auto done) { s.runs.start({"nobody", "1"}, done); });
  CHECK(unknown.error().kind == "runs_flow_slug_fkey");
}

TEST_CASE("runs are found by what they are", "[store][run]") {
  PairSession s;
  const RunId first = s.start("1"), second = s.start("2");
  const auto list = [&](const store::RunFilter& filter) {
    return s.ask<std::vector<store::RunRow>>([&](auto done) { s.runs.list(filter, done); }).value();
  };
  REQUIRE(list({}).size() == 2);
  CHECK(list({}).front().run_id == second);
  CHECK(list({.limit = 1}).size() == 1);
  CHECK(list({.flow_slug = "pair", .status = "started", .since = 1h}).size() == 2);
  CHECK(list({.flow_slug = "other"}).empty());
  CHECK(list({.status = "failed"}).empty());
  CHECK(list({.id_prefix = first.text()}).size() == 1);
  CHECK(list({.id_prefix = "%"}).empty());
}

TEST_CASE("a run is shown step by step", "[store][run]") {
  PairSession s;
  const RunId run = s.start(R"({"id": 1})");
  const auto steps =
      s.ask<std::vector<store::StepRow>>([&](auto done) { s.runs.steps(run, done); });
  REQUIRE(steps);
  REQUIRE(steps->size() == 2);
  CHECK(steps->at(0).step_slug == "first");
  CHECK(steps->at(0).status == "started");
  CHECK(steps->at(0).depends_on.empty());
  CHECK(steps->at(1).status == "created");
  CHECK(steps->at(1).depends_on == std::vector<std::string>{"first"});
  CHECK(steps->at(1).queue_name == "pair__second");
  CHECK(steps->at(1).started_at == std::nullopt);

  const auto text = s.ask<std::optional<std::string>>([&](auto done) { s.runs.read(run, done); });
  REQUIRE(text);
  REQUIRE(text->has_value());
  CHECK(json::parse(**text)->find("run")->find("run_id")->as_string() == run.text());

  const auto nobody = RunId::random();
  CHECK(s.ask<std::optional<std::string>>([&](auto done) {
           s.runs.read(nobody, done);
         }).value() == std::nullopt);
  CHECK_FALSE(s.ask<std::optional<store::RunRow>>([&](auto done) { s.runs.find(nobody, done); }
  )->has_value());
}
