// `pgflow logs`: what the workers of a running supervisor wrote lately, and with -f what they write
// from now on.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/room.hpp"

namespace pgflow::cli {
namespace {

using namespace supervisor;

bool may_be_worker_id(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
  });
}

// The query that chooses the lines of a pool, or of a worker by the beginning of its id.
Outcome<std::string> choice(const Room& room, const std::optional<std::string>& whose) {
  if (!whose) return "";
  const Outcome<StatusDocument> status = room.status();
  if (!status) return tl::unexpected(status.error());
  const auto pools = resolve_pools(*status, {*whose});
  if (!pools) {
    // A worker that ended long ago stands in no status.
    if (pools.error().exit == Exit::not_found && may_be_worker_id(*whose))
      return "&worker=" + path_part(*whose);
    return tl::unexpected(pools.error());
  }
  const PoolTarget& pool = pools->front();
  return "&flow=" + path_part(pool.flow) + (pool.step ? "&step=" + path_part(*pool.step) : "");
}

void print_log_line(const Common& common, const LogLineDocument& line) {
  if (common.output != Output::text) return print(to_json(line));
  const std::string slot =
      fmt::format("{}{}#{}", line.flow, line.step ? "/" + *line.step : "", line.slot);
  print(fmt::format("{} {}", common.out.dim(slot + " |"), line.text));
}

// Takes the complete events from the front of a stream's text.
void print_events(const Common& common, std::string& text) {
  constexpr std::string_view kData = "data: ";
  for (auto end = text.find("\n\n"); end != std::string::npos; end = text.find("\n\n")) {
    const std::string event = text.substr(0, end);
    text.erase(0, end + 2);
    const auto data = event.find(kData);
    if (data == std::string::npos) continue;
    print_log_line(common, from_json<LogLineDocument>(event.substr(data + kData.size())));
  }
  std::fflush(stdout);
}

}  // namespace

Outcome<Exit> logs(const Common& common, const LogsArguments& arguments) {
  const Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  const Outcome<std::string> chosen = choice(*room, arguments.whose);
  if (!chosen) return tl::unexpected(chosen.error());
  const Outcome<std::string> one = room->get("/v1/logs?lines=1" + *chosen);
  if (one && common.output == Output::text && from_json<LogsDocument>(*one).lines.empty()) {
    print_remark(
        common,
        "Nothing was written yet. Workers of `pgflow dev` log warnings only: start it with "
        "PGFLOW_LOG_LEVEL=info to see what they do."
    );
  }
  const std::string path = fmt::format("/v1/logs?lines={}{}", arguments.lines, *chosen);
  if (arguments.follow) {
    std::string unread;
    const auto ended = room->follow(path + "&follow=1", [&](std::string_view text) {
      unread += text;
      print_events(common, unread);
    });
    if (!ended) return tl::unexpected(ended.error());
    return Exit::ok;
  }
  const Outcome<std::string> answer = room->get(path);
  if (!answer) return tl::unexpected(answer.error());
  for (const LogLineDocument& line : from_json<LogsDocument>(*answer).lines) {
    print_log_line(common, line);
  }
  return Exit::ok;
}

}  // namespace pgflow::cli
