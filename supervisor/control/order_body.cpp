#include "supervisor/control/order_body.hpp"

#include <fmt/format.h>

#include "json/value.hpp"
#include "settings/duration.hpp"
#include "settings/key_check.hpp"
#include "supervisor/control/problem.hpp"

namespace pgflow::supervisor {
namespace {

std::optional<int> integer(const json::Value& body, std::string_view name) {
  const json::Value* value = body.find(name);
  if (value == nullptr) return std::nullopt;
  return static_cast<int>(*value->as_int64());
}

std::optional<Milliseconds> duration(const json::Value& body, std::string_view name) {
  const json::Value* value = body.find(name);
  if (value == nullptr) return std::nullopt;
  return settings::parse_duration(value->text);
}

// RFC 6901 of a member of the body.
std::string pointer_to(const std::string& name) {
  std::string pointer = "/";
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

tl::unexpected<HttpAnswer> wrong(std::string detail, std::vector<WrongPlace> places = {}) {
  return tl::unexpected(problem(
      400,
      {"body_invalid", "The body of the request is wrong.", std::move(detail)},
      std::move(places)
  ));
}

}  // namespace

tl::expected<OrderBody, HttpAnswer> read_order(const Route& route, const std::string& body) {
  OrderBody order;
  if (body.empty()) return order;
  const auto parsed = json::parse(body, {.unique_names = true, .source = {}});
  if (!parsed) return wrong(parsed.error().message);
  if (parsed->type != json::Type::object) {
    return wrong(fmt::format("It must be an object, got {}.", parsed->shown()));
  }
  settings::Problems problems("", body);
  settings::check_keys(*parsed, {"", "", route.body}, problems);
  std::vector<WrongPlace> places;
  for (settings::Problem& found : problems.take()) {
    places.push_back({pointer_to(found.path), std::move(found.reason), {}});
    if (!found.hint.empty()) places.back().hint = std::move(found.hint);
  }
  if (!places.empty()) {
    std::string first = fmt::format("{} {}.", places[0].pointer, places[0].detail);
    return wrong(std::move(first), std::move(places));
  }
  order.processes = integer(*parsed, "processes");
  order.max_concurrent = integer(*parsed, "max_concurrent");
  order.ttl = duration(*parsed, "ttl");
  if (const json::Value* reason = parsed->find("reason")) order.reason = reason->text;
  order.deadline = duration(*parsed, "deadline");
  return order;
}

}  // namespace pgflow::supervisor
