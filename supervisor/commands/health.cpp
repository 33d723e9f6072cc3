// `pgflow healthcheck` and `pgflow metrics`: what a probe and a scraper ask, for those that have no
// HTTP client.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/room.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// "[+]database ok", "[-]pool f/a failed: no worker is ready"
std::vector<HealthCheckView> checks_in(std::string_view text) {
  std::vector<HealthCheckView> checks;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("[")) continue;
    const bool ok = line.starts_with("[+]");
    line.remove_prefix(3);
    const auto verdict = line.find(ok ? " ok" : " failed");
    HealthCheckView& check = checks.emplace_back();
    check.check = line.substr(0, verdict);
    check.ok = ok;
    const auto colon = line.find(": ", std::min(verdict, line.size()));
    if (colon != std::string_view::npos) check.reason = std::string(line.substr(colon + 2));
  }
  return checks;
}

}  // namespace

Outcome<Exit> healthcheck(const Common& common, const std::string& probe) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  const std::string path = probe == "minimal" ? "livez" : "readyz";
  Outcome<supervisor::HttpReply> reply = room->ask({.path = "/" + path + "?verbose"});
  if (!reply) return tl::unexpected(reply.error());
  const bool healthy = reply->status == 200;
  if (common.output == Output::json) {
    print(to_json(HealthView{healthy, path, checks_in(reply->body)}));
  } else {
    print(reply->body);
  }
  return healthy ? Exit::ok : Exit::negative;
}

Outcome<Exit> metrics(const Common& common) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  Outcome<std::string> text = room->get("/metrics");
  if (!text) return tl::unexpected(text.error());
  print(*text);
  return Exit::ok;
}

}  // namespace pgflow::cli
