#include "supervisor/snapshot.hpp"

namespace pgflow::supervisor {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::running:
      return "running";
    case Phase::stopping:
      return "stopping";
    case Phase::stopped:
      return "stopped";
  }
  return "";
}

std::string_view to_string(PoolState state) {
  switch (state) {
    case PoolState::failed:
      return "failed";
    case PoolState::fenced:
      return "fenced";
    case PoolState::paused:
      return "paused";
    case PoolState::zero:
      return "zero";
    case PoolState::crashlooping:
      return "crashlooping";
    case PoolState::active:
      return "active";
  }
  return "";
}

}  // namespace pgflow::supervisor
