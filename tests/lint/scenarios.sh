#!/usr/bin/env bash
# Checks that every scenario of tests/sql/scenarios.txt is marked in a test, and that no test marks another.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

listed=$(grep -oE '^A[0-9]+' sql/scenarios.txt | sort)
marked=$(grep -rhoE '^(-- |# |TEST_CASE\("| +")A[0-9]+:' --include='*.sql' --include='*.sh' --include='*.cpp' . | grep -oE 'A[0-9]+' | sort -u)
difference=$(diff <(echo "$listed") <(echo "$marked")) || {
  echo "scenarios of tests/sql/scenarios.txt that no test is marked with (<), and marks that are no scenario (>):"
  grep '^[<>]' <<<"$difference"
  exit 1
}
