#!/usr/bin/env bash
# docs/sql-api.md lists exactly the functions of the API, with their parameters in order and which of them may be left out.
. "$(dirname "$0")/../../support/sql_sessions.bash"

documented=$(grep '^| ' "$here/../../docs/sql-api.md" | sed 's/^| \([^|]*\) |.*/\1/' | grep -o '`[a-z_]*([^`]*)`' | tr -d '`' |
  sed -E "s/ = ('[^']*'|[^,)]*)/?/g" | sort)
installed=$(sql -c "
  select format('%s(%s)', p.proname, (
      select string_agg(name || case when n > p.pronargs - p.pronargdefaults then '?' else '' end, ', ' order by n)
        from unnest(p.proargnames) with ordinality as argument (name, n) where n <= p.pronargs
    ))
    from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and p.prokind = 'f' and p.proname !~ '^_'" | sort)
diff <(echo "$documented") <(echo "$installed") || { echo 'not ok: < is documented, > is installed'; exit 1; }
echo "ok: all $(wc -l <<<"$installed") functions are documented"

kinds=$(sql -c "select distinct kind[1] from pg_proc p, regexp_matches(p.prosrc, 'constraint = ''pgflow_([a-z_]+)''', 'g') kind
  where p.pronamespace = 'pgflow'::regnamespace order by 1")
for kind in $kinds; do
  grep -qw "$kind" "$here/../../docs/sql-api.md" || [[ $kind == unknown_run ]] || { echo "not ok: $kind is not documented"; exit 1; }
done
echo "ok: all $(wc -w <<<"$kinds") kinds of error are documented"
