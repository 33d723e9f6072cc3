-- pgflow.ensure_workers: call the HTTP workers that are wanted and silent.
-- Called by: the cron job pgflow_ensure_workers.    Locks: the rows of the functions called.
-- Promises: only enabled functions with start_mode `http`. Locally all of them; in production those that were not called
--   and showed no live worker within their debounce. A process worker is never called. Without pg_net, or in production
--   without its secrets, nothing happens and no row is returned.

create or replace function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_local boolean := pgflow.is_local();
  v_base text := 'http://kong:8000/functions/v1';
  v_headers jsonb := jsonb '{}';
  v_project text;
  v_secret text;
begin
  if to_regnamespace('net') is null then
    return;
  end if;
  if not v_local then
    if to_regclass('vault.decrypted_secrets') is null then
      return;
    end if;
    select nullif(max(s.decrypted_secret) filter (where s.name = 'supabase_project_id'), ''),
        coalesce(
          nullif(max(s.decrypted_secret) filter (where s.name = 'pgflow_auth_secret'), ''),
          nullif(max(s.decrypted_secret) filter (where s.name = 'supabase_service_role_key'), '')
        )
      into v_project, v_secret
      from vault.decrypted_secrets s;
    if v_project is null or v_secret is null then
      return;
    end if;
    v_base := format('https://%s.supabase.co/functions/v1', v_project);
    v_headers := jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || v_secret);
  end if;

  return query
    with silent as (
      select f.function_name
        from pgflow.worker_functions f
        where f.enabled
          and f.start_mode = 'http'
          and (
            v_local
            or (
              (f.last_invoked_at is null or f.last_invoked_at < now() - f.debounce)
              and not exists (
                select
                  from pgflow.workers w
                  where w.function_name = f.function_name
                    and w.stopped_at is null
                    and w.deprecated_at is null
                    and w.last_heartbeat_at > now() - f.debounce
              )
            )
          )
        for no key update of f skip locked
    ),
    called as (
      update pgflow.worker_functions f
        set last_invoked_at = clock_timestamp()
        from silent
        where f.function_name = silent.function_name
        returning f.function_name
    )
    select called.function_name, true,
        net.http_post(url => v_base || '/' || called.function_name, headers => v_headers, body => '{}'::jsonb)
      from called;
end;
$$;
