// Two transactions that want the same task, step, run or definition: whichever order they come in,
// each outcome is one that they could have had one after the other, nobody waits who need not, and
// none of them deadlock.
#include <fstream>
#include <sstream>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/sql_session.hpp"

namespace pgflow::test {
namespace {

std::string file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A flow of one map `m` over three elements and its dependent `after`, a single root `other`, and
// one run of it whose task m[0] is started; sessions `a` and `b`.
struct Race {
  Race() {
    watch.rows(file(PGFLOW_SOURCE_DIR "/tests/support/invariants.psql"));
    watch.rows(R"(
      select pgflow.configure_events('{table}');
      select pgflow.register_worker('11111111-1111-4111-8111-111111111111', 'race', 'race');
      select pgflow.register_worker('22222222-2222-4222-8222-222222222222', 'race', 'race');
      select pgflow.create_flow('race', max_attempts => 2, base_delay => 0, timeout => 5);
      select pgflow.add_step('race', 'm', step_type => 'map', max_attempts => 1, when_exhausted => 'skip');
      select pgflow.add_step('race', 'after', array['m']);
      select pgflow.add_step('race', 'other', max_attempts => 1);
      select pgflow.start_flow('race', '[10, 11, 12]', '99999999-0000-4000-8000-000000000000');
    )");
    watch.rows("select " + claim("m", 0));
  }

  static std::string task(const std::string& step, int index) {
    return "'99999999-0000-4000-8000-000000000000', '" + step + "', " + std::to_string(index);
  }
  static std::string message(const std::string& step, int index) {
    return "(select message_id from pgflow.step_tasks where (run_id, step_slug, task_index) = (" +
           task(step, index) + "))";
  }
  static std::string claim(const std::string& step, int index, int worker = 1) {
    const std::string id = worker == 1 ? "11111111-1111-4111-8111-111111111111"
                                       : "22222222-2222-4222-8222-222222222222";
    return "pgflow.start_tasks('race', array[" + message(step, index) + "], '" + id + "', 'race')";
  }
  static std::string complete(const std::string& step, int index, const std::string& output = "1") {
    return "pgflow.complete_task(" + task(step, index) + ", '" + output + "')";
  }
  static std::string fail(const std::string& step, int index) {
    return "pgflow.fail_task(" + task(step, index) + ", 'no')";
  }

  std::string task_status(const std::string& step, int index) {
    return watch.value(
        "select status || ' ' || attempts_count from pgflow.step_tasks "
        "where (run_id, step_slug, task_index) = (" +
        task(step, index) + ")"
    );
  }
  std::string step_status(const std::string& step) {
    return watch.value("select status from pgflow.step_states where step_slug = '" + step + "'");
  }
  std::string run_status() { return watch.value("select status from pgflow.runs"); }
  std::string told(const std::string& event) {
    return watch.value("select count(*) from pgflow.event_log where event = '" + event + "'");
  }

  void waits(SqlSession& session) {
    eventually("the session waits for the other", 20s, [&] {
      return watch.value(
                 "select cardinality(pg_blocking_pids(" + std::to_string(session.backend_pid()) +
                 ")) > 0"
             ) == "t";
    });
  }

  // The second statement waits for the first one's transaction, which ends as `end` says.
  void one_after_the_other(
      const std::string& first, const std::string& second, const std::string& end = "commit"
  ) {
    a.rows("begin; select " + first);
    b.send("select " + second);
    waits(b);
    a.rows(end);
    b.finish();
  }

  // The second statement is done while the first one's transaction is still open.
  SqlSession::Rows side_by_side(
      const std::string& first, const std::string& second, const std::string& end = "commit"
  ) {
    a.rows("begin; select " + first);
    auto rows = b.rows("select " + second);
    a.rows(end);
    return rows;
  }

  void make_stalled(const std::string& step, int index) {
    watch.rows(
        "update pgflow.step_tasks set queued_at = now() - interval '1 h', started_at = now() - "
        "interval '36 s' where (run_id, step_slug, task_index) = (" +
        task(step, index) + ")"
    );
  }

  ~Race() {
    CHECK(watch.rows("select t.broken()").empty());
    CHECK(
        watch.value("select deadlocks from pg_stat_database where datname = current_database()") ==
        "0"
    );
  }

  Database database;
  SqlSession watch{database};
  SqlSession a{database};
  SqlSession b{database};
};

TEST_CASE("claim against claim: the first has the task, the second does not wait") {
  Race race;
  const std::string end = GENERATE("commit", "rollback");
  CHECK(race.side_by_side(race.claim("m", 1, 1), race.claim("m", 1, 2), end).empty());
  CHECK(race.task_status("m", 1) == (end == "commit" ? "started 1" : "queued 0"));
  CHECK(race.watch.rows("select " + race.claim("m", 1, 2)).empty() == (end == "commit"));
}

TEST_CASE("claim against skip: a skipped task is not claimed, a claimed one is skipped") {
  Race race;
  SECTION("the skip comes first") {
    CHECK(race.side_by_side(race.fail("m", 0), race.claim("m", 1)).empty());
    CHECK(race.task_status("m", 1) == "skipped 0");
    CHECK(race.step_status("after") == "started");
  }
  SECTION("the skip comes first and is undone") {
    CHECK(race.side_by_side(race.fail("m", 0), race.claim("m", 1), "rollback").empty());
    CHECK(race.watch.rows("select " + race.claim("m", 1)).size() == 1);
  }
  SECTION("the claim comes first") {
    race.one_after_the_other(race.claim("m", 1), race.fail("m", 0));
    CHECK(race.task_status("m", 1) == "skipped 1");
  }
  SECTION("a reader has the message already") {
    race.a.rows("begin; select pgmq.read('race', 5, 10)");
    race.b.send("select " + race.fail("m", 0));
    race.waits(race.b);
    CHECK(race.a.rows("select " + race.claim("m", 1)).empty());
    race.a.rows("commit");
    race.b.finish();
    CHECK(race.task_status("m", 1) == "skipped 0");
  }
}

TEST_CASE("complete against fail: the first settles the task") {
  Race race;
  const std::string end = GENERATE("commit", "rollback");
  const bool first_stands = end == "commit";
  SECTION("complete comes first") {
    race.one_after_the_other(race.complete("m", 0), race.fail("m", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "completed 1" : "failed 1"));
    CHECK(race.step_status("m") == (first_stands ? "started" : "skipped"));
  }
  SECTION("the final failure comes first") {
    race.one_after_the_other(race.fail("m", 0), race.complete("m", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "failed 1" : "completed 1"));
  }
  SECTION("a retry comes first: a queued task cannot complete") {
    race.watch.rows("update pgflow.steps set opt_max_attempts = 2 where step_slug = 'm'");
    race.one_after_the_other(race.fail("m", 0), race.complete("m", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "queued 1" : "completed 1"));
  }
}

TEST_CASE(
    "complete against the failure of the run: what was complete stays, what was not is cancelled"
) {
  Race race;
  const std::string end = GENERATE("commit", "rollback");
  const bool first_stands = end == "commit";
  race.watch.rows("select " + race.claim("other", 0));
  SECTION("complete comes first") {
    race.one_after_the_other(race.complete("m", 0), race.fail("other", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "completed 1" : "cancelled 1"));
    CHECK(race.run_status() == "failed");
  }
  SECTION("the failure comes first") {
    race.one_after_the_other(race.fail("other", 0), race.complete("m", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "cancelled 1" : "completed 1"));
    CHECK(race.run_status() == (first_stands ? "failed" : "started"));
  }
}

TEST_CASE("complete against cancel_run: the first of them ends the task") {
  Race race;
  const std::string cancel = "pgflow.cancel_run('99999999-0000-4000-8000-000000000000')";
  const std::string end = GENERATE("commit", "rollback");
  const bool first_stands = end == "commit";
  SECTION("complete comes first") {
    race.one_after_the_other(race.complete("m", 0), cancel, end);
    CHECK(race.task_status("m", 0) == (first_stands ? "completed 1" : "cancelled 1"));
    CHECK(race.run_status() == "failed");
  }
  SECTION("the cancellation comes first") {
    race.one_after_the_other(cancel, race.complete("m", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "cancelled 1" : "completed 1"));
    CHECK(race.run_status() == (first_stands ? "failed" : "started"));
  }
  CHECK(race.told("step:m:completed") == "0");
}

TEST_CASE("claim against cancel_run: a cancelled task is not claimed, a claimed one is cancelled") {
  Race race;
  const std::string cancel = "pgflow.cancel_run('99999999-0000-4000-8000-000000000000')";
  SECTION("the cancellation comes first") {
    CHECK(race.side_by_side(cancel, race.claim("m", 1)).empty());
    CHECK(race.task_status("m", 1) == "cancelled 0");
  }
  SECTION("the claim comes first") {
    race.one_after_the_other(race.claim("m", 1), cancel);
    CHECK(race.task_status("m", 1) == "cancelled 1");
  }
}

TEST_CASE("complete against complete: the last of a map ends it, once") {
  Race race;
  race.watch.rows("select " + race.claim("m", 1) + ", " + race.claim("m", 2));
  race.watch.rows("select " + race.complete("m", 2));
  race.one_after_the_other(race.complete("m", 0), race.complete("m", 1));
  CHECK(race.step_status("m") == "completed");
  CHECK(race.step_status("after") == "started");
  CHECK(race.told("step:m:completed") == "1");
  CHECK(race.told("step:after:started") == "1");
}

TEST_CASE("complete against complete: two parents release their child once") {
  Race race;
  race.watch.rows(R"(
    select pgflow.create_flow('join');
    select pgflow.add_step('join', 'a'), pgflow.add_step('join', 'b');
    select pgflow.add_step('join', 'c', array['a', 'b']);
    select pgflow.start_flow('join', '{}', '99999999-0000-4000-8000-000000000001');
    select pgflow.start_tasks('join', '{1, 2}', '11111111-1111-4111-8111-111111111111', 'join');
  )");
  const std::string run = "'99999999-0000-4000-8000-000000000001'";
  race.one_after_the_other(
      "pgflow.complete_task(" + run + ", 'a', 0, '1')",
      "pgflow.complete_task(" + run + ", 'b', 0, '2')"
  );
  CHECK(race.step_status("c") == "started");
  CHECK(race.told("step:c:started") == "1");
}

TEST_CASE("complete against requeue: a late completion counts if it comes first") {
  Race race;
  const std::string end = GENERATE("commit", "rollback");
  const bool first_stands = end == "commit";
  race.make_stalled("m", 0);
  SECTION("complete comes first") {
    race.side_by_side(race.complete("m", 0), "pgflow.requeue_stalled_tasks()", end);
    CHECK(race.task_status("m", 0) == (first_stands ? "completed 1" : "started 1"));
    CHECK(race.watch.value("select pgflow.requeue_stalled_tasks()") == (first_stands ? "0" : "1"));
  }
  SECTION("requeue comes first") {
    race.one_after_the_other("pgflow.requeue_stalled_tasks()", race.complete("m", 0), end);
    CHECK(race.task_status("m", 0) == (first_stands ? "queued 1" : "completed 1"));
  }
}

TEST_CASE("requeue against claim: neither waits, and a task is in one hand at a time") {
  Race race;
  SECTION("requeue comes first") {
    race.make_stalled("m", 0);
    CHECK(race.side_by_side("pgflow.requeue_stalled_tasks()", race.claim("m", 0, 2)).empty());
    CHECK(race.watch.rows("select " + race.claim("m", 0, 2)).size() == 1);
    CHECK(race.task_status("m", 0) == "started 2");
  }
  SECTION("the claim comes first") {
    const auto rows = race.side_by_side(race.claim("m", 1), "pgflow.requeue_stalled_tasks()");
    CHECK(rows == SqlSession::Rows{{"0"}});
    CHECK(race.task_status("m", 1) == "started 1");
  }
}

TEST_CASE("fail against requeue and a new claim: it counts for the attempt that it finds") {
  Race race;
  race.watch.rows("update pgflow.steps set opt_max_attempts = 3 where step_slug = 'm'");
  race.make_stalled("m", 0);
  race.one_after_the_other(
      "pgflow.requeue_stalled_tasks(); select " + Race::claim("m", 0, 2), Race::fail("m", 0)
  );
  CHECK(race.task_status("m", 0) == "queued 2");
  CHECK(race.run_status() == "started");
}

TEST_CASE("settling against the fourth stall: the result of a task that was put aside still counts"
) {
  Race race;
  race.watch.rows("update pgflow.step_tasks set requeued_count = 3");
  race.make_stalled("m", 0);
  SECTION("a completion") {
    race.one_after_the_other("pgflow.requeue_stalled_tasks()", race.complete("m", 0));
    CHECK(race.task_status("m", 0) == "completed 1");
  }
  SECTION("a failure") {
    race.watch.rows("update pgflow.steps set opt_max_attempts = 3 where step_slug = 'm'");
    race.one_after_the_other("pgflow.requeue_stalled_tasks()", race.fail("m", 0));
    CHECK(race.task_status("m", 0) == "failed 1");
  }
}

TEST_CASE("release against a claim that comes while it waits: it takes no task whose run it has not"
) {
  Race race;
  const std::string worker = "'11111111-1111-4111-8111-111111111111'";
  const std::string release = GENERATE_COPY(
      as<std::string>{},
      "pgflow.release_worker(" + worker + ", 'dead', array[5, 6, 7, 8])",
      "pgflow.release_worker(" + worker + ", 'dead')",
      "pgflow.release_tasks(" + worker + ")"
  );
  race.watch.rows(
      "select pgflow.start_flow('race', '[1, 2, 3]', '11111111-0000-4000-8000-000000000000')"
  );
  // The release waits for the only run that its worker has a task of.
  race.a.rows("begin; select " + race.complete("m", 1));
  race.b.send("select " + release);
  race.waits(race.b);
  // Meanwhile the worker gets a task of a run of which somebody else is settling another one.
  race.watch.rows("select pgflow.start_tasks('race', array[5], " + worker + ", 'race')");
  SqlSession c(race.database);
  const std::string other_task =
      "pgflow.complete_task('11111111-0000-4000-8000-000000000000', 'm', ";
  c.rows("begin; select " + other_task + "1, '1')");
  race.a.rows("commit");
  CHECK(race.b.finish() == SqlSession::Rows{{"1"}});
  c.rows("select " + other_task + "0, '1'); commit");
  CHECK(
      race.watch.value("select count(*) from pgflow.step_tasks where status = 'completed'") == "1"
  );
}

TEST_CASE("compile against compile: the second verifies what the first has made") {
  Race race;
  const std::string end = GENERATE("commit", "rollback");
  const std::string mode = GENERATE("flow", "step");
  const std::string compile =
      R"(pgflow.ensure_flow_compiled('fresh', '{"steps": [{"slug": "x"}, {"slug": "y"}]}', ')" +
      mode + "') ->> 'status'";
  race.a.rows("begin; select " + compile);
  race.b.send("select " + compile);
  race.waits(race.b);
  race.watch.rows(R"(select pgflow.ensure_flow_compiled('another', '{"steps": [{"slug": "x"}]}'))");
  race.a.rows(end);
  CHECK(race.b.finish().front().front() == (end == "commit" ? "verified" : "compiled"));
}

// The calls that hold something of a run of the flow.
std::string any_holder() {
  return GENERATE(
      as<std::string>{},
      Race::claim("m", 1),
      Race::complete("m", 0),
      Race::fail("m", 0),
      "pgflow.release_tasks('11111111-1111-4111-8111-111111111111')"
  );
}

TEST_CASE("delete against what holds a run of the flow: the deletion comes after it") {
  Race race;
  const std::string first =
      GENERATE(true, false)
          ? any_holder()
          : GENERATE(
                as<std::string>{}, "pgflow.start_flow('race', '[1]')", "pgmq.read('race', 5, 1)"
            );
  const std::string end = GENERATE("commit", "rollback");
  INFO(first);
  race.one_after_the_other(first, "pgflow.delete_flow_and_data('race')", end);
  CHECK(race.watch.value("select count(*) from pgflow.flows") == "0");
  CHECK(race.watch.value("select count(*) from pgflow.runs") == "0");
  CHECK(race.watch.value("select count(*) from pgmq.list_queues()") == "0");
}

TEST_CASE("delete while another call is half done: it waits for that call, and that call not for it"
) {
  Race race;
  const std::string first = any_holder();
  INFO(first);
  // The call is stopped when it has its run, or (a claim locks no run) its task, but not yet the
  // queue.
  const std::string when = first == Race::claim("m", 1) ? "after" : "before";
  race.watch.rows(
      "create function t.pause() returns trigger language plpgsql as "
      "'begin perform pg_advisory_xact_lock_shared(42); return new; end';"
      "create trigger pause " +
      when + " update on pgflow.step_tasks for each row execute function t.pause();"
  );
  race.watch.rows("begin; select pg_advisory_xact_lock(42)");
  race.a.send("select " + first);
  race.waits(race.a);
  race.b.send("select pgflow.delete_flow_and_data('race')");
  race.waits(race.b);
  race.watch.rows("commit");
  race.a.finish();
  race.b.finish();
  CHECK(race.watch.value("select count(*) from pgflow.flows") == "0");
}

TEST_CASE("delete comes first: the flow is gone for everybody, or still there") {
  Race race;
  const std::string end = GENERATE("commit", "rollback");
  const bool gone = end == "commit";
  race.a.rows("begin; select pgflow.delete_flow_and_data('race')");
  SECTION("a claim does not wait and has nothing") {
    CHECK(race.b
              .rows("select pgflow.start_tasks('race', '{1, 2, 3, 4}', "
                    "'22222222-2222-4222-8222-222222222222', 'race')")
              .empty());
    race.a.rows(end);
  }
  SECTION("a completion finds nothing") {
    race.b.send("select " + race.complete("m", 0));
    race.waits(race.b);
    race.a.rows(end);
    CHECK(race.b.finish().empty() == gone);
  }
  SECTION("no run starts any more") {
    race.b.send("select pgflow.start_flow('race', '[1]')");
    race.waits(race.b);
    race.a.rows(end);
    try {
      race.b.finish();
      CHECK_FALSE(gone);
    } catch (const SqlError& error) {
      CHECK(gone);
      CHECK(error.sqlstate() == "23503");
    }
  }
  CHECK(race.watch.value("select count(*) from pgflow.flows") == (gone ? "0" : "1"));
}

TEST_CASE("start against add_step: the run has the steps that it counts") {
  Race race;
  // A run_id that somebody else has not committed yet stops the start when it has read the steps.
  const std::string run = "'99999999-0000-4000-8000-000000000001'";
  race.a.rows(
      "begin; insert into pgflow.runs (run_id, flow_slug, input) values (" + run + ", 'race', '[]')"
  );
  race.b.send("select pgflow.start_flow('race', '[1]', " + run + ")");
  race.waits(race.b);
  race.watch.rows("select pgflow.add_step('race', 'late', array['other'])");
  race.a.rows("rollback");
  race.b.finish();
  CHECK(
      race.watch.value(
          "select remaining_steps - (select count(*) from pgflow.step_states s where s.run_id = " +
          run + ") from pgflow.runs where run_id = " + run
      ) == "0"
  );
}

TEST_CASE("delete against a transaction that settles twice: it waits for both") {
  Race race;
  race.watch.rows("select " + race.claim("m", 1) + ", " + race.claim("m", 2));
  race.watch.rows("select " + race.complete("m", 1) + ", " + race.complete("m", 2));
  race.watch.rows("select " + race.claim("other", 0));
  const bool starts_first = GENERATE(false, true);
  // The second change of a run in one transaction checks its flow again: runs before flows.
  race.a.rows(
      "begin; select " +
      (starts_first ? "pgflow.start_flow('race', '[1]')" : race.complete("other", 0))
  );
  race.b.send("select pgflow.delete_flow_and_data('race')");
  race.waits(race.b);
  race.a.rows("select " + race.complete("m", 0));
  race.a.rows("commit");
  race.b.finish();
  CHECK(race.watch.value("select count(*) from pgflow.flows") == "0");
}

TEST_CASE("delete while the call that ends a run is half done: it waits for that call") {
  Race race;
  race.watch.rows(R"(
    select pgflow.create_flow('tiny'), pgflow.add_step('tiny', 'only');
    select pgflow.start_flow('tiny', '{}', '99999999-0000-4000-8000-000000000001');
    select pgflow.start_tasks('tiny', '{1}', '11111111-1111-4111-8111-111111111111', 'tiny');
    create function t.pause() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock_shared(42); return new; end';
    create trigger pause before update on pgflow.step_tasks for each row execute function t.pause();
  )");
  race.watch.rows("begin; select pg_advisory_xact_lock(42)");
  race.a.send("select pgflow.complete_task('99999999-0000-4000-8000-000000000001', 'only', 0, '1')"
  );
  race.waits(race.a);
  race.b.send("select pgflow.delete_flow_and_data('tiny')");
  race.waits(race.b);
  race.watch.rows("commit");
  race.a.finish();
  race.b.finish();
  CHECK(race.watch.value("select count(*) from pgflow.flows where flow_slug = 'tiny'") == "0");
}

TEST_CASE("recompile against start: the run is one of the old definition or one of the new") {
  Race race;
  race.watch.rows("set pgflow.environment = 'local'");
  race.a.rows("set pgflow.environment = 'local'");
  const std::string recompile =
      R"(pgflow.ensure_flow_compiled('race', '{"steps": [{"slug": "x"}]}') ->> 'status')";
  SECTION("the recompilation comes first") {
    const std::string end = GENERATE("commit", "rollback");
    race.one_after_the_other(recompile, "pgflow.start_flow('race', '[1]')", end);
    CHECK(
        race.watch.value("select string_agg(distinct step_slug, ',') from pgflow.step_states "
                         "where run_id <> '99999999-0000-4000-8000-000000000000'"
        ) == (end == "commit" ? "x" : "after,m,other")
    );
  }
  SECTION("the start comes first and is gone with the old definition") {
    race.b.rows("begin; select pgflow.start_flow('race', '[1]')");
    race.a.send("select " + recompile);
    race.waits(race.a);
    race.b.rows("commit");
    CHECK(race.a.finish().front().front() == "recompiled");
    CHECK(race.watch.value("select count(*) from pgflow.runs") == "0");
  }
}

// The kind of error that what `ask` does ends with; empty when it succeeds.
template <typename Ask>
std::string refusal(Ask&& ask) {
  try {
    ask();
    return "";
  } catch (const SqlError& error) {
    return error.sqlstate() + " " + error.constraint();
  }
}

// A flow with step queues and one run of it; session `a` drops the queue of its step x.
struct DropRace : Race {
  DropRace() {
    watch.rows(R"(
      select pgflow.ensure_flow_compiled('own', '{"steps": [{"slug": "x"}, {"slug": "y"}]}', 'step');
      select pgflow.start_flow('own', '{}', '99999999-0000-4000-8000-000000000001');
      update pgflow.workers set queue_name = 'own__x';
    )");
  }

  void begin_drop() { a.rows("begin; select pgmq.drop_queue('own__x')"); }

  // What operators do about a dropped queue; then all invariants hold again.
  ~DropRace() {
    watch.rows("select pgflow.restore_queues('own')");
    watch.rows(
        "select pgflow.requeue_tasks(jsonb_agg(to_jsonb(lost))) from pgflow.stalled_tasks('own') "
        "lost having count(*) > 0"
    );
  }

  inline static const std::string worker = "'11111111-1111-4111-8111-111111111111'";
  inline static const std::string read =
      "pgflow.read_and_claim('own__x', 'own', 'x', " + worker + ", 1)";
};

TEST_CASE("a queue's drop against what ends work or gives it back: it waits and needs no queue") {
  DropRace race;
  race.watch.rows("select " + DropRace::read);
  race.watch.rows(
      "update pgflow.step_tasks set queued_at = now() - interval '2 h', started_at = now() - "
      "interval '1 h' "
      "where status = 'started' and flow_slug = 'own'"
  );
  const std::string run = "'99999999-0000-4000-8000-000000000001'";
  const std::string item =
      R"({"run_id": "99999999-0000-4000-8000-000000000001", "step_slug": "x", "task_index": 0)";
  const std::string ending = GENERATE_COPY(
      as<std::string>{},
      "pgflow.complete_task(" + run + ", 'x', 0, '1')",
      "pgflow.complete_tasks('[" + item + R"(, "output": 1}]', )" + DropRace::worker + ")",
      "pgflow.fail_task(" + run + ", 'x', 0, 'no')",
      "pgflow.fail_tasks('[" + item + R"(, "error": "no", "permanent": true}]', )" +
          DropRace::worker + ")",
      "pgflow.cancel_run(" + run + ")",
      "pgflow.release_tasks(" + DropRace::worker + ")",
      "pgflow.release_worker(" + DropRace::worker + ", 'dead')",
      "pgflow.release_worker(" + DropRace::worker + ", 'dead', array[1])",
      "pgflow.requeue_stalled_tasks()"
  );
  INFO(ending);
  race.begin_drop();
  race.b.send("select " + ending);
  race.waits(race.b);
  race.a.rows("commit");
  CHECK(refusal([&] { race.b.finish(); }) == "");
  CHECK(
      race.watch.value(
          "select count(*) from pgflow.step_tasks where step_slug = 'x' and status = 'started'"
      ) == "0"
  );
}

TEST_CASE("a queue's drop against what needs the queue: it waits and is refused in words") {
  DropRace race;
  const std::string need = GENERATE_COPY(
      as<std::string>{},
      DropRace::read,
      "pgflow.start_tasks('own', '{1}', " + DropRace::worker + ", 'own__x', 'x')",
      "pgflow.set_vt_batch('own__x', '{1}', '{1}')",
      "pgflow.next_visible_at('own__x')",
      "pgflow.start_flow('own', '{}')",
      R"(pgflow.requeue_tasks('[{"run_id": "99999999-0000-4000-8000-000000000001", "step_slug": "x", "task_index": 0}]'))"
  );
  INFO(need);
  race.begin_drop();
  race.b.send("select " + need);
  race.waits(race.b);
  race.a.rows("commit");
  CHECK(refusal([&] { race.b.finish(); }) == "42P01 pgflow_queue_missing");
}

TEST_CASE("a queue's drop against its restoration: it is made again") {
  DropRace race;
  race.begin_drop();
  race.b.send("select pgflow.restore_queues('own')");
  race.waits(race.b);
  race.a.rows("commit");
  CHECK(race.b.finish() == SqlSession::Rows{{"own__x"}});
}

TEST_CASE("prune against a queue's drop: there is nothing left to prune there") {
  DropRace race;
  race.watch.rows(file(PGFLOW_SOURCE_DIR "/sql/operator/prune_data_older_than.sql"));
  if (GENERATE(false, true)) {
    race.watch.rows("select pgflow.cancel_run('99999999-0000-4000-8000-000000000001')");
  }
  race.begin_drop();
  race.b.send("select pgflow.prune_data_older_than('0 s')");
  race.waits(race.b);
  race.a.rows("commit");
  CHECK(refusal([&] { race.b.finish(); }) == "");
}

TEST_CASE("restoration against a queue's drop: both lock the queue before its archive") {
  DropRace race;
  SqlSession reader(race.database);
  reader.rows("begin; lock table pgmq.a_own__x in access exclusive mode");
  race.b.send("select pgflow.restore_queues('own')");
  race.waits(race.b);
  race.a.send("select pgmq.drop_queue('own__x')");
  race.waits(race.a);
  reader.rows("commit");
  CHECK(race.b.finish().empty());
  CHECK(race.a.finish() == SqlSession::Rows{{"t"}});
}

TEST_CASE("the end of a definition against a claim: it finds the new queue, or a clear refusal") {
  DropRace race;
  race.a.rows("set pgflow.environment = 'local'");
  const std::string end = GENERATE("commit", "rollback");
  SECTION("recompilation") {
    race.a.rows(
        R"(begin; select pgflow.ensure_flow_compiled('own', '{"steps": [{"slug": "x"}, {"slug": "z"}]}', 'step'))"
    );
    race.b.send("select " + DropRace::read);
    race.waits(race.b);
    race.a.rows(end);
    CHECK(race.b.finish().empty() == (end == "commit"));
  }
  SECTION("deletion") {
    race.a.rows("begin; select pgflow.delete_flow_and_data('own')");
    race.b.send("select " + DropRace::read);
    race.waits(race.b);
    race.a.rows(end);
    CHECK(refusal([&] {
            race.b.finish();
          }) == (end == "commit" ? "42P01 pgflow_queue_missing" : ""));
    if (end == "commit") CHECK(race.watch.rows("select " + DropRace::read).empty());
  }
}

TEST_CASE("prune against a late result: the run that somebody holds is left for the next time") {
  Race race;
  race.watch.rows(file(PGFLOW_SOURCE_DIR "/sql/operator/prune_data_older_than.sql"));
  race.watch.rows("select pgflow.cancel_run('99999999-0000-4000-8000-000000000000')");
  const std::string prune = "pgflow._prune_runs('infinity', 10)";
  SECTION("the late result comes first") {
    CHECK(race.side_by_side(race.complete("m", 0), prune) == SqlSession::Rows{{"0"}});
    CHECK(race.watch.value("select " + prune) == "1");
  }
  SECTION("the pruning comes first") {
    race.one_after_the_other(prune, race.complete("m", 0));
  }
  CHECK(race.watch.value("select count(*) from pgflow.runs") == "0");
}

}  // namespace
}  // namespace pgflow::test
