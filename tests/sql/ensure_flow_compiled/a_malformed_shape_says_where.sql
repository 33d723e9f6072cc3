-- A malformed shape is a typed error that says where, before anything is written.
\ir ../support.psql
begin;
create temp table bad (kind text, path text, shape jsonb);
insert into bad values
  ('shape_invalid', '$', '[]'),
  ('shape_invalid', '$', '"x"'),
  ('shape_invalid', '$.steps', '{"steps": {}}'),
  ('shape_invalid', '$.steps', '{"steps": "a"}'),
  ('shape_invalid', '$.steps[0]', '{"steps": ["a"]}'),
  ('shape_invalid', '$.steps[1]', '{"steps": [{"slug": "a"}, {}]}'),
  ('shape_invalid', '$.steps[0]', '{"steps": [{"slug": 1}]}'),
  ('shape_invalid', '$.steps[0].dependencies', '{"steps": [{"slug": "a", "dependencies": "b"}]}'),
  ('shape_invalid', '$.steps[0].dependencies', '{"steps": [{"slug": "a", "dependencies": [1]}]}'),
  ('shape_invalid', '$.steps[0].dependencies', '{"steps": [{"slug": "a", "dependencies": ["a"]}]}'),
  ('shape_invalid', '$.steps[0].dependencies', '{"steps": [{"slug": "a", "dependencies": ["b"]}, {"slug": "b"}]}'),
  ('shape_invalid', '$.steps[1].dependencies', '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["A"]}]}'),
  ('duplicate_dependency', null, '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a", "a"]}]}'),
  ('map_dependencies', null, '{"steps": [{"slug": "a"}, {"slug": "b"}, {"slug": "m", "stepType": "map", "dependencies": ["a", "b"]}]}'),
  ('shape_invalid', '$.steps[0].stepType', '{"steps": [{"slug": "a", "stepType": "loop"}]}'),
  ('shape_invalid', '$.steps[0].stepType', '{"steps": [{"slug": "a", "stepType": 1}]}'),
  ('shape_invalid', '$.steps[0].whenUnmet', '{"steps": [{"slug": "a", "whenUnmet": "maybe"}]}'),
  ('shape_invalid', '$.steps[0].whenExhausted', '{"steps": [{"slug": "a", "whenExhausted": ""}]}'),
  ('shape_invalid', '$.steps[0].requiredInputPattern', '{"steps": [{"slug": "a", "requiredInputPattern": {}}]}'),
  ('shape_invalid', '$.steps[0].requiredInputPattern', '{"steps": [{"slug": "a", "requiredInputPattern": {"defined": true}}]}'),
  ('shape_invalid', '$.steps[0].requiredInputPattern', '{"steps": [{"slug": "a", "requiredInputPattern": {"defined": false, "value": {}}}]}'),
  ('shape_invalid', '$.steps[0].forbiddenInputPattern', '{"steps": [{"slug": "a", "forbiddenInputPattern": {"defined": true, "value": {}, "z": 1}}]}'),
  ('shape_invalid', '$.steps[0].forbiddenInputPattern', '{"steps": [{"slug": "a", "forbiddenInputPattern": {"defined": true, "value": []}}]}'),
  ('shape_invalid', '$.steps[0].options', '{"steps": [{"slug": "a", "options": []}]}'),
  ('shape_invalid', '$.steps[0].options.timeout', '{"steps": [{"slug": "a", "options": {"timeout": 0}}]}'),
  ('shape_invalid', '$.steps[0].options.maxAttempts', '{"steps": [{"slug": "a", "options": {"maxAttempts": -1}}]}'),
  ('shape_invalid', '$.steps[0].options.baseDelay', '{"steps": [{"slug": "a", "options": {"baseDelay": 1.5}}]}'),
  ('shape_invalid', '$.steps[0].options.startDelay', '{"steps": [{"slug": "a", "options": {"startDelay": "1"}}]}'),
  ('shape_invalid', '$.options.maxAttempts', '{"options": {"maxAttempts": 2147483648}}'),
  ('shape_invalid', '$.options', '{"options": 1}');
select plan(3 * count(*)::int + 1) from bad;

create temp view call as
  select bad.*, error_of(format('select pgflow.ensure_flow_compiled(%L, %L, %L)', 'x', shape, 'flow')) as error from bad;
select is(error ->> 'kind', kind, shape::text) from call;
select ok(path is null or error ->> 'detail' = format('At %s.', path), coalesce(path, 'no path') || ': ' || (error ->> 'message')) from call;
select ok(error ->> 'hint' <> '', 'has a hint') from call;
select lives_ok($$ select pgflow.ensure_flow_compiled('x', '{
  "unknown": 1, "options": {"maxAttempts": 2.0, "timeout": null},
  "steps": [{"slug": "a", "dependencies": null, "stepType": null, "options": null, "requiredInputPattern": null}]}') $$,
  'null is absent, unknown keys are ignored, 2.0 is whole');

select * from finish();
rollback;
