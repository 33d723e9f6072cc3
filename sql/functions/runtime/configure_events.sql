-- pgflow.configure_events: choose where events go, and write the two functions that all of them pass through.
-- Called by: operators, the embedded server, and below at every installation.    Locks: none but the catalog.
-- Promises: no look-up per event; with no sink, an event costs one call that says "nobody listens".
-- Refuses: NULL; an unknown sink; `realtime` and `hook` without the function they call.
--
-- The choice is kept as the comment of pgflow._emit, so a new installation of the functions keeps it.

create or replace function pgflow.configure_events(sinks text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $configure$
declare
  v_known constant jsonb := jsonb_build_object(
    'realtime', $$  perform realtime.send(payload, event, topic, false);
$$,
    'hook', $$  begin
    perform pgflow.on_event(payload, event, topic);
  exception when others then
    raise warning 'pgflow.on_event failed for %: %', event, sqlerrm;
  end;
$$,
    'notify', $$  perform pg_notify('pgflow_events', jsonb_strip_nulls(jsonb_build_object(
    'event', event, 'run_id', payload->'run_id', 'flow_slug', payload->'flow_slug',
    'step_slug', payload->'step_slug', 'status', payload->'status'
  ))::text);
$$,
    'table', $$  insert into pgflow.event_log (run_id, event, payload)
    values ((payload->>'run_id')::uuid, _emit.event, _emit.payload);
$$
  );
  v_sinks text[] := array(select distinct s from unnest(sinks) s order by s);
  v_unknown text[] := array(select s from unnest(v_sinks) s where (v_known ? s) is not true);
  v_body text := '';
  v_sink text;
  v_target text;
begin
  if sinks is null then
    perform pgflow._refuse_argument('configure_events', 'sinks', null, 'an array of names, empty for no events');
  end if;
  if v_unknown <> '{}' then
    raise exception using
      constraint = 'pgflow_event_sink',
      message = format('Event sink "%s" is unknown.', coalesce(v_unknown[1], 'NULL')),
      detail = 'The sinks are realtime, hook, notify and table; an empty list turns events off.',
      hint = 'Correct the name and call pgflow.configure_events again.';
  end if;
  select s.sink, s.target into v_sink, v_target
    from (values ('realtime', 'realtime.send(jsonb, text, text, boolean)'), ('hook', 'pgflow.on_event(jsonb, text, text)'))
      as s (sink, target)
    where s.sink = any(v_sinks) and to_regprocedure(s.target) is null;
  if found then
    raise exception using
      constraint = 'pgflow_event_sink',
      message = format('Event sink "%s" needs the function %s.', v_sink, v_target),
      detail = 'This database has no such function.',
      hint = 'Create it first, or choose notify or table.';
  end if;

  if 'table' = any(v_sinks) then
    create unlogged table if not exists pgflow.event_log (
      id bigint generated always as identity primary key,
      at timestamptz not null default clock_timestamp(),
      run_id uuid not null,
      event text not null,
      payload jsonb not null
    );
  end if;

  foreach v_sink in array v_sinks loop
    v_body := v_body || (v_known ->> v_sink);
  end loop;

  execute format(
    'create or replace function pgflow._emit(payload jsonb, event text, topic text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as %L', E'\nbegin\n' || v_body || E'end;\n'
  );
  execute format('comment on function pgflow._emit(jsonb, text, text) is %L', 'sinks:' || array_to_string(v_sinks, ','));
  execute format(
    'create or replace function pgflow._emits() returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as %L', E'\nbegin\n  return ' || case when v_sinks = '{}' then 'false' else 'true' end || E';\nend;\n'
  );
end;
$configure$;

do $$
declare
  v_chosen text := obj_description(to_regprocedure('pgflow._emit(jsonb, text, text)'), 'pg_proc');
begin
  perform pgflow.configure_events(
    case
      when v_chosen like 'sinks:%' then string_to_array(substr(v_chosen, 7), ',')
      when to_regprocedure('realtime.send(jsonb, text, text, boolean)') is not null then array['realtime']
      else '{}'
    end
  );
end;
$$;
