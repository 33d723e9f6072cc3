// SQLSTATEs and what to do about them.
#include "pg/sqlstate.hpp"

#include <string_view>

namespace pgflow::pg {
namespace {

struct Rule {
  std::string_view prefix;
  Remedy remedy;
};

constexpr Rule kRules[] = {
    {"08", Remedy::reconnect},     // connection exception, also PgBouncer's
    {"57P01", Remedy::reconnect},  // admin_shutdown
    {"57P02", Remedy::reconnect},  // crash_shutdown
    {"57P03", Remedy::reconnect},  // cannot_connect_now: starting or stopping
    {"53300", Remedy::reconnect},  // too_many_connections
    {"25006", Remedy::reconnect},  // read_only_sql_transaction: we talk to a standby
    {"40001", Remedy::again},      // serialization_failure
    {"40P01", Remedy::again},      // deadlock_detected
};

}  // namespace

Remedy remedy(const Error& error) {
  for (const Rule& rule : kRules) {
    if (error.sqlstate.starts_with(rule.prefix)) return rule.remedy;
  }
  // A broken connection heals whatever the server's last words were; one that was refused by name
  // (wrong password, unknown database) does not.
  if (error.kind == kConnectionLost) return Remedy::reconnect;
  if (error.kind == kConnectionFailed && error.sqlstate.empty()) return Remedy::reconnect;
  return Remedy::none;
}

}  // namespace pgflow::pg
