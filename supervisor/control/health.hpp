// Whether a supervisor is healthy: one check a line, as Kubernetes shows its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/snapshot.hpp"

namespace pgflow::supervisor {

struct Check {
  std::string name;
  bool ok = false;
  std::string why{};  // it is not, or need not be
};

// Every pool that is wanted was ready once; stays so.
std::vector<Check> startup_checks(const Snapshot& snapshot);
// Work can be done now: the database answers, and each pool that may work has a worker.
std::vector<Check> readiness_checks(const Snapshot& snapshot);

bool all_ok(const std::vector<Check>& checks);
// "[+]database ok", "[-]pool f/a failed: no worker is ready", then "readyz check passed" or
// "readyz check failed".
std::string verbose_text(const std::vector<Check>& checks, std::string_view probe);

}  // namespace pgflow::supervisor
