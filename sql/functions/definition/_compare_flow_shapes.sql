-- pgflow._compare_flow_shapes: what differs between two shapes, in words that callers show.
-- Called by: ensure_flow_compiled.    Locks: none.
-- Promises: empty when equal; the count first, then step by step. Options and the order of dependencies do not count; a
--   slug, type or mode that one side leaves out is no difference; a pattern that is left out is {"defined": false}.
create or replace function pgflow._compare_flow_shapes(p_local jsonb, p_db jsonb) returns text[]
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    with local_step as (
      select element.position - 1 as step_index, element.value as body
        from jsonb_array_elements(coalesce(nullif(p_local -> 'steps', 'null'), '[]'))
          with ordinality as element (value, position)
    ),
    db_step as (
      select element.position - 1 as step_index, element.value as body
        from jsonb_array_elements(coalesce(nullif(p_db -> 'steps', 'null'), '[]'))
          with ordinality as element (value, position)
    ),
    pair as (
      select step_index, local_step.body as l, db_step.body as d
        from local_step full join db_step using (step_index)
    ),
    dependencies as (
      select pair.step_index, l.slugs as l, d.slugs as d
        from pair,
          lateral (
            select coalesce(string_agg(distinct slug collate "C", ', ' order by slug collate "C"), '') as slugs
              from jsonb_array_elements_text(coalesce(nullif(pair.l -> 'dependencies', 'null'), '[]')) slug
          ) l,
          lateral (
            select coalesce(string_agg(distinct slug collate "C", ', ' order by slug collate "C"), '') as slugs
              from jsonb_array_elements_text(coalesce(nullif(pair.d -> 'dependencies', 'null'), '[]')) slug
          ) d
        where pair.l is not null and pair.d is not null
    ),
    difference as (
      select -1::bigint as step_index, 0 as rank, format(
          'Step count differs: %s vs %s', (select count(*) from local_step), (select count(*) from db_step)
        ) as text
        where (select count(*) from local_step) <> (select count(*) from db_step)
      union all
      select step_index, 0, case
          when l is null then
            format('Step at index %s: missing in first shape (second has ''%s'')', step_index, d ->> 'slug')
          else
            format('Step at index %s: missing in second shape (first has ''%s'')', step_index, l ->> 'slug')
        end
        from pair where l is null or d is null
      union all
      select step_index, rule.rank, format(
          'Step at index %s: %s differs ''%s'' vs ''%s''', step_index, rule.label, l ->> rule.key, d ->> rule.key
        )
        from pair, (values
          (1, 'slug', 'slug'), (2, 'stepType', 'type'), (4, 'whenUnmet', 'whenUnmet'),
          (5, 'whenExhausted', 'whenExhausted')
        ) as rule (rank, key, label)
        where l ->> rule.key <> d ->> rule.key
      union all
      select step_index, 3, format('Step at index %s: dependencies differ [%s] vs [%s]', step_index, l, d)
        from dependencies where l <> d
      union all
      select step_index, rule.rank, format(
          'Step at index %s: %s differs ''%s'' vs ''%s''', step_index, rule.key, sent.l, sent.d
        )
        from pair,
          (values (6, 'requiredInputPattern'), (7, 'forbiddenInputPattern')) as rule (rank, key),
          lateral (
            select coalesce(nullif(pair.l -> rule.key, 'null'), '{"defined": false}') as l,
              coalesce(nullif(pair.d -> rule.key, 'null'), '{"defined": false}') as d
          ) sent
        where pair.l is not null and pair.d is not null and sent.l <> sent.d
    )
    select difference.text from difference order by difference.step_index, difference.rank
  );
end;
$$;
