-- A cascade reads so many pages a step, however many steps there are: chains of empty maps, of unmet conditions, and a
-- diamond that is skipped as a whole.
\ir ../../support/engine.psql
begin;
select plan(4);
select pgflow.configure_events('{}') \g /dev/null

create function t.flow(p_kind text, n int) returns text language plpgsql as $$
declare
  v_flow text := p_kind || n;
begin
  perform pgflow.ensure_flow_compiled(v_flow, jsonb_build_object('steps', (
    select jsonb_agg(case p_kind
        when 'maps' then jsonb_build_object('slug', 's' || i, 'stepType', 'map', 'dependencies', case i when 1 then array[]::text[] else array['s' || i - 1] end)
        when 'skips' then jsonb_build_object('slug', 's' || i, 'dependencies', case i when 1 then array[]::text[] else array['s' || i - 1] end,
          'requiredInputPattern', '{"defined": true, "value": {"never": 1}}'::jsonb)
        else jsonb_build_object('slug', case i % 2 when 1 then 'l' else 'r' end || (i + 1) / 2,
          'dependencies', case when i <= 2 then array[]::text[] else array['l' || (i - 1) / 2, 'r' || (i - 1) / 2] end,
          'whenUnmet', 'skip-cascade',
          'requiredInputPattern', case when i <= 2 then '{"defined": true, "value": {"never": 1}}'::jsonb else '{"defined": false}' end)
      end order by i)
      from generate_series(1, n) i)));
  return v_flow;
end $$;
create function t.pages(p_flow text) returns numeric language plpgsql as $$
declare
  v_plan json;
begin
  execute format('explain (analyze, buffers, format json) select pgflow.start_flow(%L, ''[]'')', p_flow) into v_plan;
  return (v_plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::numeric + (v_plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::numeric;
end $$;
create temp table flow as
  select kind, n, t.flow(kind, n) from unnest(array['maps', 'skips', 'diamond']) kind, unnest(array[10, 60, 600]) n;
-- As autovacuum does it a minute after a large definition.
analyze pgflow.steps, pgflow.deps;

-- The first call of a session reads the catalog.
select t.pages(flow) from flow where n = 10 \g /dev/null
create temp table read as select kind, n, t.pages(flow) / n as pages from flow where n > 10;
select cmp_ok(large.pages, '<', 1.5 * small.pages, kind || ': ten times the steps, the same pages a step')
  from read small join read large using (kind) where small.n = 60 and large.n = 600 order by kind;
select is((select array_agg(distinct status) from pgflow.runs), array['completed'], 'all of them complete');

select * from finish();
rollback;
