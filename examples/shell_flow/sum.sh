#!/bin/sh
# "sales/north.csv" becomes the sum of its third column.
awk -F, 'FNR > 1 { sum += $3 } END { printf "%.2f\n", sum }' "$(tr -d '"')"
