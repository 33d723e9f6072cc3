#!/bin/sh
# The rate of the day. The bank is as busy as banks are: it answers the third time it is asked.
if [ "$PGFLOW_ATTEMPT" -lt 3 ]; then
  echo "the bank does not answer" >&2
  exit 75 # temporary: try again
fi
echo 0.92
