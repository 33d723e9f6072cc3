#include "supervisor/control/routes.hpp"

#include <algorithm>

#include "base/did_you_mean.hpp"

namespace pgflow::supervisor {
namespace {

using settings::Key;
using settings::Kind;

constexpr double kDay = 24 * 3'600'000.0;

// clang-format off
constexpr Key kScale[] = {
    {.path = "processes", .kind = Kind::integer, .minimum = 0, .maximum = 1000, .example = "2", .doc = "Worker processes."},
    {.path = "max_concurrent", .kind = Kind::integer, .minimum = 1, .maximum = 10000, .example = "4", .doc = "Tasks that one process runs at a time."},
    {.path = "ttl", .kind = Kind::duration, .minimum = 1000, .maximum = 365 * kDay, .example = "\"30m\"", .doc = "Back to the config file's values after this time."},
};
constexpr Key kPause[] = {
    {.path = "reason", .kind = Kind::text, .example = "\"maintenance\"", .doc = "Shown by pgflow status."},
    {.path = "deadline", .kind = Kind::duration, .minimum = 0, .maximum = kDay, .example = "\"60s\"", .doc = "After it tasks in hand are given back."},
};
constexpr Key kStop[] = {
    {.path = "deadline", .kind = Kind::duration, .minimum = 0, .maximum = kDay, .example = "\"25s\"", .doc = "How long workers may finish their tasks; the config's shutdown_deadline when absent."},
};
constexpr std::string_view kVerbose[] = {"verbose"};
constexpr std::string_view kFollow[] = {"follow"};
constexpr std::string_view kLogs[] = {"flow", "step", "worker", "lines", "follow"};

constexpr Route kRoutes[] = {
    {"GET", "/livez", Operation::livez, "Is the supervisor's loop alive?", {}, kVerbose},
    {"GET", "/startupz", Operation::startupz, "Was every wanted pool ready once?", {}, kVerbose},
    {"GET", "/readyz", Operation::readyz, "Can work be done now?", {}, kVerbose},
    {"GET", "/metrics", Operation::metrics, "Prometheus' text format."},
    {"GET", "/status", Operation::status, "As /v1/status."},
    {"GET", "/v1/status", Operation::status, "Everything about the supervisor, its pools and their workers."},
    {"GET", "/v1/exits", Operation::exits, "The last ends of workers, the newest first."},
    {"GET", "/v1/events", Operation::events, "What changed lately; follow=1 keeps telling, as server-sent events.", {}, kFollow},
    {"GET", "/v1/logs", Operation::logs, "The last lines that workers wrote; follow=1 keeps telling, as server-sent events.", {}, kLogs},
    {"GET", "/v1/openapi.json", Operation::openapi, "This description."},
    {"POST", "/v1/pools/{flow}/{step}/scale", Operation::scale, "Other numbers than the config file's, until reset.", kScale},
    {"DELETE", "/v1/pools/{flow}/{step}/scale", Operation::reset_scale, "Back to the config file's numbers."},
    {"POST", "/v1/pools/{flow}/{step}/pause", Operation::pause, "Workers finish and leave, none is started.", kPause},
    {"POST", "/v1/pools/{flow}/{step}/resume", Operation::resume, "The end of a pause."},
    {"POST", "/v1/pools/{flow}/{step}/restart", Operation::restart, "Replace every worker, one after the other."},
    {"POST", "/v1/flows/{flow}/scale", Operation::scale, "The same for all pools of a flow.", kScale},
    {"DELETE", "/v1/flows/{flow}/scale", Operation::reset_scale, "The same for all pools of a flow."},
    {"POST", "/v1/flows/{flow}/pause", Operation::pause, "The same for all pools of a flow.", kPause},
    {"POST", "/v1/flows/{flow}/resume", Operation::resume, "The same for all pools of a flow."},
    {"POST", "/v1/flows/{flow}/restart", Operation::restart, "The same for all pools of a flow."},
    {"POST", "/v1/workers/{id}/drain", Operation::drain_worker, "This worker finishes and is replaced."},
    {"POST", "/v1/workers/{id}/kill", Operation::kill_worker, "This worker is killed, its tasks are given back, and it is replaced."},
    {"POST", "/v1/stop", Operation::stop, "As the signal TERM.", kStop},
};
// clang-format on

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool is_parameter(std::string_view part) {
  return part.starts_with('{');
}

bool fits(
    const std::vector<std::string_view>& pattern, const std::vector<std::string_view>& parts
) {
  return std::ranges::equal(pattern, parts, [](std::string_view wanted, std::string_view given) {
    return is_parameter(wanted) ? !given.empty() : wanted == given;
  });
}

// The pattern with this path's own values in it, so that only its fixed words count as mistakes.
std::string filled(
    const std::vector<std::string_view>& pattern, const std::vector<std::string_view>& parts
) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool given = is_parameter(pattern[i]) && i < parts.size();
    path += "/" + std::string(given ? parts[i] : pattern[i]);
  }
  return path;
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

std::string Match::parameter(std::string_view name) const {
  for (const auto& [known, value] : parameters) {
    if (known == name) return value;
  }
  return {};
}

Match match(std::string_view method, std::string_view path) {
  Match found;
  if (!path.starts_with('/')) return found;
  const auto parts = parts_of(path);
  std::vector<std::string> known;
  for (const Route& route : kRoutes) {
    const auto pattern = parts_of(route.path);
    if (!fits(pattern, parts)) {
      known.push_back(filled(pattern, parts));
      continue;
    }
    found.allowed.push_back(route.method);
    if (route.method != method && !(method == "HEAD" && route.method == "GET")) continue;
    found.route = &route;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (!is_parameter(pattern[i])) continue;
      found.parameters.emplace_back(pattern[i].substr(1, pattern[i].size() - 2), parts[i]);
    }
  }
  if (found.allowed.empty()) found.guess = did_you_mean(path, known).value_or("");
  return found;
}

}  // namespace pgflow::supervisor
