#include "supervisor/control/problem.hpp"

namespace pgflow::supervisor {
namespace {

std::optional<std::string> unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return plain(text);
}

}  // namespace

HttpAnswer problem(int status, const Error& error, std::vector<WrongPlace> places) {
  return {
      .status = status,
      .content_type = "application/problem+json",
      .body = to_json(ProblemDocument{
                  .type = "urn:pgflow:" + error.kind,
                  .title = plain(error.message),
                  .status = status,
                  .detail = unless_empty(error.detail),
                  .hint = unless_empty(error.hint),
                  .errors = std::move(places),
              }) +
              "\n",
  };
}

HttpAnswer problem(const Error& refused_order) {
  if (refused_order.kind == "pool_unknown" || refused_order.kind == "worker_unknown") {
    return problem(404, refused_order);
  }
  return problem(refused_order.kind == "order_refused" ? 409 : 500, refused_order);
}

}  // namespace pgflow::supervisor
