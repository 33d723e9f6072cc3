#!/usr/bin/env bash
# The unit in config/systemd is one that systemd understands and calls safe: systemd_unit.sh PGFLOW
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed "s|^ExecStart=/usr/bin/pgflow |ExecStart=$1 |" "$here/config/systemd/pgflow.service" >"$folder/pgflow.service"

problems=$(systemd-analyze verify --man=no "$folder/pgflow.service" 2>&1 | grep pgflow || true)
[[ -z $problems ]] || { echo "$problems" >&2; exit 1; }

# From 0 (safe) to 10.
exposure=$(systemd-analyze security --offline=yes --no-pager "$folder/pgflow.service" | sed -n 's/.*exposure level for .*: \([0-9.]*\).*/\1/p')
awk -v exposure="$exposure" 'BEGIN { exit !(exposure != "" && exposure < 3) }' || { echo "exposure $exposure" >&2; exit 1; }
