#include "store/refusal.hpp"

#include <string_view>
#include <utility>

namespace pgflow::store {
namespace {

constexpr std::string_view kMissingRight = "42501";

}  // namespace

ExitCode exit_code_of(const Error& error) {
  const std::string_view sqlstate = error.sqlstate;
  if (sqlstate == kMissingRight || sqlstate.starts_with("28")) return ExitCode::no_permission;
  // The server's own troubles, which another try may find gone.
  if (sqlstate.starts_with("XX") || sqlstate.starts_with("58")) return ExitCode::internal;
  // All else is about what this program and this database are to each other.
  return ExitCode::config;
}

Error with_hint(Error error) {
  if (error.sqlstate == kMissingRight && error.hint.empty()) {
    error.hint = "Grant the role what it needs: `pgflow sql roles`, docs/roles.md.";
  }
  return error;
}

}  // namespace pgflow::store
