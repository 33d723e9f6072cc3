// `pgflow dev`.
#include "supervisor/commands/command.hpp"

namespace pgflow::cli {

Outcome<Exit> dev(const Common&, const DevArguments&) {
  return refuse(Exit::internal, "not built yet");
}

}  // namespace pgflow::cli
