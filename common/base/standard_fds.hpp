// Descriptors 0, 1 and 2, which every program may take for granted.
#pragma once

namespace pgflow {

// Opens /dev/null in place of each that the caller has closed. First thing in main: otherwise the
// next file or socket gets such a number, is written to as if it were stderr, and libuv aborts.
void open_missing_standard_fds();

}  // namespace pgflow
