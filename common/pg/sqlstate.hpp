// Which failures of the database pass by themselves: the one table.
#pragma once

#include "base/result.hpp"

namespace pgflow::pg {

enum class Remedy {
  none,       // the same request fails again
  again,      // the same request on the same connection: a conflict with somebody else
  reconnect,  // the database is down, full, switched over, or the connection is gone: back off,
              // then connect anew
};

Remedy remedy(const Error& error);

inline bool is_transient(const Error& error) {
  return remedy(error) != Remedy::none;
}
inline bool is_database_down(const Error& error) {
  return remedy(error) == Remedy::reconnect;
}

// Error::kind of what libpq reports without a SQLSTATE.
inline constexpr char kConnectionLost[] =
    "connection_lost";  // it was open; the last statement may have happened
inline constexpr char kConnectionFailed[] = "connection_failed";  // it never opened
inline constexpr char kDatabaseError[] = "database_error";  // an error without a name of its own

}  // namespace pgflow::pg
