// What a worker program says about its flows when it is asked with --pgflow-describe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pgflow::contract {

struct ManifestRoute {
  std::string step_slug;
  int step_index = 0;
  std::string queue_name;
  bool operator==(const ManifestRoute&) const = default;
};

struct Manifest {
  std::string flow_slug;
  std::string queue_mode;               // "flow" | "step"
  std::vector<ManifestRoute> routes;    // step mode only
  std::vector<std::string> step_slugs;  // in the shape's order
  std::string shape_json;  // handed on to ensure_flow_compiled, numbers as they were written
  std::string fingerprint;
};

// One line a flow. Rubbish is an error that quotes what came; a manifest or protocol version above
// ours is refused; unknown keys are ignored.
Result<std::vector<Manifest>> read_manifests(std::string_view output);

}  // namespace pgflow::contract
