#!/usr/bin/env bash
# Checks that sql/CMakeLists.txt lists every SQL file once (a file that is not listed would never be installed), and that
# every migration can be undone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../sql"

status=0
while read -r file; do
  count=$(grep -cE "(^|[[:space:]])$file($|[[:space:])])" CMakeLists.txt || true)
  if [[ $count != 1 ]]; then
    echo "sql/$file is listed $count times in sql/CMakeLists.txt, expected once"
    status=1
  fi
done < <(git ls-files --cached --others --exclude-standard '*.sql')

# Every migration but the first has its way back.
for migration in migrations/0*.sql; do
  [[ $migration != migrations/0001_* && $migration != *.down.sql ]] || continue
  if [[ ! -f ${migration%.sql}.down.sql ]]; then
    echo "sql/$migration has no way back, sql/${migration%.sql}.down.sql"
    status=1
  fi
done
exit $status
