#include "supervisor/room.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/did_you_mean.hpp"
#include "settings/load.hpp"
#include "supervisor/commands/report.hpp"

namespace pgflow::cli {
namespace {

namespace fs = std::filesystem;
using namespace supervisor;

std::string path_of(const PoolTarget& pool, std::string_view verb) {
  return pool.step
             ? fmt::format("/v1/pools/{}/{}/{}", path_part(pool.flow), path_part(*pool.step), verb)
             : fmt::format("/v1/flows/{}/{}", path_part(pool.flow), verb);
}

Failure failure_of(const HttpReply& reply) {
  ProblemDocument problem;
  try {
    problem = from_json<ProblemDocument>(reply.body);
  } catch (const JsonError&) {
    problem.title = fmt::format("The supervisor answered {}.", reply.status);
  }
  Exit exit = Exit::internal;
  if (reply.status == 404) exit = Exit::not_found;
  if (reply.status == 401 || reply.status == 403) exit = Exit::no_permission;
  if (reply.status == 400 || reply.status == 413) exit = Exit::usage;
  if (reply.status == 409) exit = Exit::negative;
  if (reply.status == 503) exit = Exit::unavailable;
  if (problem.type == "urn:pgflow:state_dir_unusable") exit = Exit::os_error;
  return {
      exit, {"supervisor", problem.title, problem.detail.value_or(""), problem.hint.value_or("")}
  };
}

}  // namespace

Outcome<Room> Room::find(const Common& common) {
  if (common.socket) return Room(*common.socket, "--socket or PGFLOW_SOCKET");
  std::error_code ignored;
  const fs::path here = "pgflow.json";
  if (!common.config && !fs::exists(here, ignored)) {
    return Room(fs::path(".pgflow") / "control.sock", "this folder");
  }
  const fs::path file = common.config.value_or(here);
  auto settings = settings::load_supervisor(file);
  if (!settings) return tl::unexpected(config_failure(settings.error()));
  return Room(settings->control.socket, file.string());
}

Outcome<HttpReply> Room::ask(const HttpQuestion& question, std::chrono::milliseconds limit) const {
  auto connection = connect_to(socket_);
  Result<HttpReply> reply = connection ? supervisor::ask(std::move(*connection), question, limit)
                                       : tl::unexpected(connection.error());
  if (reply) return std::move(*reply);
  return tl::unexpected(silence(reply.error()));
}

Outcome<void> Room::follow(
    const std::string& path, const std::function<void(std::string_view)>& heard
) const {
  auto connection = connect_to(socket_);
  const Result<HttpReply> reply =
      connection ? supervisor::follow(std::move(*connection), {.path = path}, heard)
                 : tl::unexpected(connection.error());
  if (!reply) return tl::unexpected(silence(reply.error()));
  if (reply->status >= 400) return tl::unexpected(failure_of(*reply));
  return {};
}

// Whoever should answer does not.
Failure Room::silence(Error error) const {
  error.message = fmt::format("no supervisor answers at {}", socket_.string());
  error.hint = fmt::format(
      "The socket comes from {}; start the supervisor with `pgflow up`, or name another socket "
      "with "
      "--socket.",
      source_
  );
  return {Exit::unavailable, std::move(error)};
}

Outcome<std::string> Room::tell(const HttpQuestion& question, std::chrono::milliseconds limit)
    const {
  Outcome<HttpReply> reply = ask(question, limit);
  if (!reply) return tl::unexpected(reply.error());
  if (reply->status >= 400) return tl::unexpected(failure_of(*reply));
  return std::move(reply->body);
}

Outcome<std::string> Room::get(const std::string& path) const {
  return tell({.path = path});
}

Outcome<StatusDocument> Room::status(std::chrono::milliseconds limit) const {
  return tell({.path = "/v1/status"}, limit).map([](const std::string& body) {
    return from_json<StatusDocument>(body);
  });
}

Outcome<OrderDocument> Room::order(
    const PoolTarget& pool, std::string_view verb, const std::string& body
) const {
  return tell({.method = "POST", .path = path_of(pool, verb), .body = body})
      .map([](const std::string& answer) { return from_json<OrderDocument>(answer); });
}

Outcome<OrderDocument> Room::reset_scale(const PoolTarget& pool) const {
  return tell({.method = "DELETE", .path = path_of(pool, "scale")})
      .map([](const std::string& answer) { return from_json<OrderDocument>(answer); });
}

Outcome<void> Room::stop(const std::string& body) const {
  return tell({.method = "POST", .path = "/v1/stop", .body = body}).map([](const std::string&) {});
}

std::string name_of(const PoolDocument& pool) {
  return pool.step ? pool.flow + "/" + *pool.step : pool.flow;
}

std::string painted_pool_state(const Style& style, const std::string& state) {
  if (state == "active") return style.green(state);
  if (state == "failed" || state == "crashlooping") return style.red(state);
  return style.yellow(state);
}

std::string override_text(const PoolDocument& pool) {
  if (!pool.overridden) return "";
  std::string text = fmt::format("file {}x{}", pool.file_processes, pool.file_max_concurrent);
  if (pool.override_ends_seconds) {
    text += fmt::format(", back in {}", duration_text(pool.override_ends_seconds));
  }
  return text;
}

bool is_about(const PoolDocument& pool, const PoolTarget& target) {
  return pool.flow == target.flow && (!target.step || target.step == pool.step);
}

Outcome<std::vector<PoolTarget>> resolve_pools(
    const StatusDocument& status, const std::vector<std::string>& names
) {
  std::vector<PoolTarget> targets;
  for (const std::string& name : names) {
    std::set<std::string> known;
    std::vector<PoolTarget> found;
    bool is_flow = false;
    for (const PoolDocument& pool : status.pools) {
      known.insert({pool.flow, name_of(pool)});
      if (pool.step) known.insert(*pool.step);
      is_flow |= pool.flow == name;
      if (pool.step && (*pool.step == name || name_of(pool) == name)) {
        found.push_back({pool.flow, pool.step});
      }
    }
    if (found.empty() && is_flow) found.push_back({name, std::nullopt});
    if (found.empty()) {
      const std::vector<std::string> list(known.begin(), known.end());
      std::string hint = did_you_mean_hint(name, list);
      if (hint.empty()) hint = "`pgflow status` lists the pools.";
      return refuse(
          Exit::not_found,
          fmt::format("this supervisor has no pool \"{}\"", name),
          fmt::format("Config: {}.", status.config),
          hint
      );
    }
    if (found.size() + (is_flow && found[0].step ? 1 : 0) > 1) {
      std::vector<std::string> all;
      for (const PoolTarget& one : found) all.push_back(one.flow + "/" + *one.step);
      return refuse(
          Exit::usage,
          fmt::format("\"{}\" is not the name of one pool alone", name),
          fmt::format("It may be {}{}.", fmt::join(all, " or "), is_flow ? " or the flow" : ""),
          fmt::format("Say FLOW/STEP: {}.", all[0])
      );
    }
    targets.push_back(std::move(found[0]));
  }
  return targets;
}

}  // namespace pgflow::cli
