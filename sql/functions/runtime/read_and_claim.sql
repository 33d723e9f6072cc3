-- pgflow.read_and_claim: read up to qty messages of a queue and claim their tasks, in one round trip.
-- Called by: store::TaskStore for the worker's poll.
-- Locks: queue rows (by pgmq.read, which skips locked ones), then step_tasks (skipping locked ones): it waits for no row.
-- Promises: one row for each message read, by msg_id. claimed: the task is ours and all columns are filled. started:
--   somebody has it. final: it, its step or its run is over. unknown: no task has this message. foreign: a task of another
--   step or flow has it. A message that is not claimed is only leased by the read, as by any reader. A worker that has
--   been stopped, or whose function is fenced, reads nothing: when a fence is committed, no claim commits any more. A qty of
--   0 reads nothing either.
-- Refuses: what start_tasks refuses, an old snapshot too: it would not show the fence; a queue that was dropped
--   (queue_missing, 42P01); a qty that is NULL or negative (argument_invalid, 22023).

create or replace function pgflow.read_and_claim(
  queue_name text,
  flow_slug text,
  p_step_slug text,
  worker_id uuid,
  qty int,
  with_flow_input boolean default false
)
returns table (
  msg_id bigint,
  outcome text,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  max_attempts int,
  timeout_seconds int,
  input jsonb,
  flow_input jsonb
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('read_and_claim');
  v_hidden_for int := pgflow._claim_timeout(read_and_claim.flow_slug, read_and_claim.queue_name, p_step_slug) + 2;
  v_function_name text;
  v_is_refused boolean;
  v_msg_ids bigint[];
begin
  if qty is null or qty < 0 then
    perform pgflow._refuse_argument('read_and_claim', 'qty', qty::text, 'a number of messages, 0 or more');
  end if;
  if v_hidden_for is null then
    return;
  end if;

  -- A fence takes this lock exclusively: it waits for claims under way, and refuses those that come while it is put up.
  select w.function_name,
      w.stopped_at is not null or not pg_try_advisory_xact_lock_shared(2, hashtext(w.function_name))
    into v_function_name, v_is_refused
    from pgflow.workers w
    where w.worker_id = read_and_claim.worker_id;
  if v_is_refused then
    return;
  end if;

  -- A statement of its own: it must see a fence that has just been put up, and the claim must see tasks that appeared
  -- while this one waited.
  v_msg_ids := array(
    select m.msg_id
      from pgmq.read(
        pgflow._existing_queue(read_and_claim.queue_name),
        v_hidden_for,
        case
          when exists (select from pgflow.fenced_functions f where f.function_name = v_function_name) then 0
          else qty
        end
      ) m
  );
  if v_msg_ids = '{}' then
    return;
  end if;

  return query
    with claimed as materialized (
      select c.*
        from pgflow._claim_tasks(
          read_and_claim.flow_slug, read_and_claim.queue_name, p_step_slug, v_msg_ids, read_and_claim.worker_id,
          with_flow_input, v_hidden_for
        ) c
    )
    select c.msg_id, 'claimed', c.run_id, c.claimed_step_slug, c.task_index, c.attempt, c.max_attempts,
        c.timeout_seconds, c.input, c.flow_input
      from claimed c
    union all
    select message.id,
        case
          when t.run_id is null then 'unknown'
          when t.flow_slug <> read_and_claim.flow_slug or t.step_slug <> p_step_slug then 'foreign'
          when t.status not in ('queued', 'started') or r.status <> 'started' or ss.status <> 'started' then 'final'
          else 'started'
        end,
        null, null, null, null, null, null, null, null
      from unnest(v_msg_ids) as message (id)
      left join lateral (
        select task.run_id, task.flow_slug, task.step_slug, task.status
          from pgflow.step_tasks task
          where task.queue_name = read_and_claim.queue_name and task.message_id = message.id
          offset 0
      ) t on true
      left join lateral (
        select run.status from pgflow.runs run where run.run_id = t.run_id offset 0
      ) r on true
      left join lateral (
        select state.status
          from pgflow.step_states state
          where state.run_id = t.run_id and state.step_slug = t.step_slug
          offset 0
      ) ss on true
      where message.id not in (select c.msg_id from claimed c)
    order by 1;
end;
$$;
