// The body of an order, checked as strictly as the config file.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "supervisor/control/http_server.hpp"
#include "supervisor/control/routes.hpp"
#include "supervisor/orders.hpp"

namespace pgflow::supervisor {

// What any order may hold; which of them, its route says.
struct OrderBody {
  std::optional<int> processes;
  std::optional<int> max_concurrent;
  std::optional<Milliseconds> ttl;
  std::string reason;
  std::optional<Milliseconds> deadline;
};

// An empty body is {}. Or the answer that says what is wrong: 400 with a JSON pointer for each
// problem.
tl::expected<OrderBody, HttpAnswer> read_order(const Route& route, const std::string& body);

}  // namespace pgflow::supervisor
