#!/usr/bin/env bash
# Checks that sql/CMakeLists.txt lists every SQL file once: a file that is not listed would never be installed.
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
exit $status
