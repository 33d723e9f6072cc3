// Every route of the control room, once: the server, docs/openapi.json and the hints of a wrong
// path come from this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/keys.hpp"

namespace pgflow::supervisor {

enum class Operation {
  livez,
  startupz,
  readyz,
  metrics,
  status,
  exits,
  events,
  logs,
  openapi,
  scale,
  reset_scale,
  pause,
  resume,
  restart,
  drain_worker,
  kill_worker,
  stop,
};

struct Route {
  std::string_view method;
  std::string_view path;  // "/v1/pools/{flow}/{step}/scale"
  Operation operation;
  std::string_view summary;
  std::span<const settings::Key> body = {};  // of an order: the keys that it takes
  std::span<const std::string_view> query = {};

  bool is_order() const { return method != "GET"; }
  // Open to whoever can connect: a probe has no token.
  bool is_probe() const {
    return operation == Operation::livez || operation == Operation::startupz ||
           operation == Operation::readyz;
  }
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;  // null: no such path, or not with this method
  std::vector<std::pair<std::string_view, std::string>> parameters;  // {"flow", "communityThreads"}
  std::vector<std::string_view> allowed;  // methods of this path; empty: no such path
  std::string guess;                      // a path that was perhaps meant; may be empty

  std::string parameter(std::string_view name) const;
};
Match match(std::string_view method, std::string_view path);

// OpenAPI 3.1, as docs/openapi.json.
std::string openapi();

}  // namespace pgflow::supervisor
