#!/bin/sh
# "sales" becomes ["sales/north.csv", "sales/south.csv"].
cd "$(tr -d '"')" || exit 65
ls -- *.csv | awk -v folder="${PWD##*/}" '
  { printf "%s\"%s/%s\"", NR == 1 ? "[" : ", ", folder, $0 }
  END { print NR ? "]" : "[]" }'
