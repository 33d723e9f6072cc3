#!/bin/sh
# {"name": "Ada"} becomes {"text": "Hello Ada"}.
name=$(sed -n 's/.*"name" *: *"\([^"\\]*\)".*/\1/p')
if [ -z "$name" ]; then
  echo 'the input has no name' >&2
  exit 65 # failed for good: no further attempt can help
fi
printf '{"text": "Hello %s"}\n' "$name"
