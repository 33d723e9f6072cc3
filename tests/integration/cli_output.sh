#!/usr/bin/env bash
# The program with descriptors missing, and with output that goes nowhere.
set -uo pipefail
pgflow=$1
failed=0
fact() { if [[ $2 == "$3" ]]; then echo "ok: $1"; else echo "FAILED: $1: $2, expected $3"; failed=1; fi; }

"$pgflow" version >&-
fact "without a standard output it ends as usual" $? 0
"$pgflow" config check /nonexistent.json <&- 2>&-
fact "without a standard error it says why by its exit code" $? 66
message=$("$pgflow" version 2>&1 >/dev/full)
fact "output that is lost is no success" $? 71
[[ $message == *"could not be written"* ]]
fact "and is told" $? 0
exit $failed
