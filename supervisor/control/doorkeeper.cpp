#include "supervisor/control/doorkeeper.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "settings/address.hpp"
#include "supervisor/control/problem.hpp"

namespace pgflow::supervisor {
namespace {

constexpr std::string_view kBearer = "Bearer ";

// "[::1]:9464" is ::1, "localhost" is itself.
std::string host_without_port(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

bool same_name(const std::string& a, const std::string& b) {
  return strcasecmp(a.c_str(), b.c_str()) == 0;
}

// How long it takes tells nothing about where the two differ.
bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(secret[i % secret.size()]);
  }
  return difference == 0;
}

}  // namespace

std::optional<HttpAnswer> SocketKeeper::refuse(const HttpRequest& request, const Route*) const {
  const std::optional<Peer>& peer = request.peer;
  const bool in_group = peer && std::ranges::find(peer->groups, group_) != peer->groups.end();
  if (peer && (peer->uid == 0 || peer->uid == owner_ || (mode_ & 0002U) != 0 ||
               ((mode_ & 0020U) != 0 && in_group))) {
    return std::nullopt;
  }
  return problem(
      403,
      {"not_allowed",
       "This socket is for the supervisor's own user and root.",
       peer ? fmt::format("You are uid {}.", peer->uid) : "The kernel does not say who you are.",
       "\"supervisor\": {\"control\": {\"mode\": \"0660\"}} lets the file's group in."}
  );
}

std::optional<HttpAnswer> TcpKeeper::refuse(const HttpRequest& request, const Route* route) const {
  const std::string_view host = request.header("Host");
  if (!knows_host(host)) {
    return problem(
        403,
        {"host_unknown",
         "This host is not called that.",
         fmt::format("The request is for \"{}\".", host),
         "Use the IP address, or add the name to \"supervisor\": {\"health\": {\"hosts\": […]}}."}
    );
  }
  const std::string_view origin = request.header("Origin");
  if (!origin.empty() && origin != fmt::format("http://{}", host)) {
    return problem(
        403,
        {"origin_foreign",
         "A web page of another site may not ask this.",
         fmt::format("The page is from {}.", origin),
         "Ask from a program, or from a page of this host."}
    );
  }
  if (route != nullptr && route->is_probe()) return std::nullopt;
  if (!token_.empty()) {
    if (has_token(request)) return std::nullopt;
    HttpAnswer answer = problem(
        401,
        {"token_missing",
         "The bearer token is missing or wrong.",
         "",
         "Send it as \"Authorization: Bearer TOKEN\"; only the probes go without."}
    );
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  const bool tells_output = route != nullptr && route->operation == Operation::logs;
  if (route == nullptr || (!route->is_order() && !tells_output)) return std::nullopt;
  return problem(
      403,
      {"read_only",
       tells_output ? "What workers write is not shown here." : "Orders are not taken here.",
       "This door has no token.",
       "Use the UNIX socket (`pgflow` does), or configure \"supervisor\": {\"health\": "
       "{\"token_env\": NAME}}."}
  );
}

// DNS rebinding needs a name that somebody else controls: an address never is one.
bool TcpKeeper::knows_host(std::string_view host) const {
  const std::string name = host_without_port(host);
  if (same_name(name, "localhost") || settings::is_ip(name)) return true;
  return std::ranges::any_of(hosts_, [&](const std::string& known) {
    return same_name(known, name);
  });
}

bool TcpKeeper::has_token(const HttpRequest& request) const {
  const std::string_view given = request.header("Authorization");
  return given.size() >= kBearer.size() &&
         strncasecmp(given.data(), kBearer.data(), kBearer.size()) == 0 &&
         equal_in_constant_time(given.substr(kBearer.size()), token_);
}

}  // namespace pgflow::supervisor
