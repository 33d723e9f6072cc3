#include "worker/environment.hpp"

#include <cstdlib>

namespace pgflow {

const char* first_set(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const char* value = std::getenv(name);
    if (value && *value) return value;
  }
  return "";
}

Result<pg::Dsn> find_database(std::string_view connection_string) {
  if (!connection_string.empty()) return pg::Dsn::parse(connection_string);
  return pg::Dsn::parse(first_set({"DATABASE_URL", "EDGE_WORKER_DB_URL"}));
}

}  // namespace pgflow
