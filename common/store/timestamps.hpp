// How SQL of store/ writes a timestamptz as text: RFC 3339 in UTC, whatever DateStyle and TimeZone
// say.
#pragma once

#define PGFLOW_UTC(column) \
  "to_char(" column " at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
