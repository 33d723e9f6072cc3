#!/usr/bin/env bash
# release_worker ends a dead worker's backends before it gives the tasks back: a statement that is still running for the
# dead worker cannot commit afterwards.
. "$(dirname "$0")/../../support/sql_sessions.bash"

sql -f "$here/engine.psql"
sql <<'SQL'
select pgflow.create_flow('one') \g /dev/null
select pgflow.add_step('one', 'a') \g /dev/null
select pgflow.start_flow('one', '{}') \g /dev/null
select count(*) from t.claim('one') \g /dev/null
SQL
worker=$(sql -c 'select t.worker()')
run=$(sql -c 'select run_id from pgflow.runs')

# The worker has completed its task but its transaction is still open: the server is at work for a client that is dead.
PGAPPNAME=pgflow:$worker psql -XAtq -c "begin; select pgflow.complete_task('$run', 'a', 0, '1'); select pg_sleep(600)" \
  >"$scratch/zombie" 2>&1 &
zombie=$!
eventually 10 'the dead worker holds its task' "
  select exists (select from pg_stat_activity where application_name = 'pgflow:$worker' and query like '%pg_sleep%' and state = 'active' and wait_event = 'PgSleep')"

equal 'the task is given back' 1 "$(sql -c "select pgflow.release_worker('$worker', 'killed by signal 9')")"
wait "$zombie" && { echo 'not ok: the zombie ended well'; exit 1; }
equal 'the zombie was told why' 1 "$(grep -c 'terminating connection due to administrator command' "$scratch/zombie")"
equal 'no backend of the worker is left' 0 "$(sql -c "select count(*) from pg_stat_activity where application_name = 'pgflow:$worker'")"
equal 'the task is queued, its attempt refunded' 'queued|0|' "$(sql -c 'select status, attempts_count, output from pgflow.step_tasks')"
equal 'another worker gets it at once' 1 "$(sql -c "select count(*) from t.claim('one', null, 2)")"
equal 'asked again nothing happens' 0 "$(sql -c "select pgflow.release_worker('$worker', 'killed by signal 9')")"
equal 'the other worker keeps it' 'started|1' "$(sql -c 'select status, attempts_count from pgflow.step_tasks')"
equal 'a caller that bears the name of the worker survives its own call' 0 \
  "$(PGAPPNAME=pgflow:$worker sql -c "select pgflow.release_worker('$worker', 'itself')")"
equal 'all invariants hold' '' "$(sql -c 'select t.broken()')"
