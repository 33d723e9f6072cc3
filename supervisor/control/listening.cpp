#include "supervisor/control/listening.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "settings/address.hpp"
#include "supervisor/control/socket_address.hpp"

namespace pgflow::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 128;

tl::unexpected<Error> cannot_listen(std::string where, int code, std::string hint) {
  return tl::unexpected(Error{
      "not_listening",
      fmt::format("Cannot listen at {}.", where),
      fmt::format("{}.", std::generic_category().message(code)),
      std::move(hint)
  });
}

// Whether a connection to it is taken.
bool is_served(const SocketAddress& address) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd && (connect(fd.get(), address.get(), address.size()) == 0 || errno == EAGAIN);
}

}  // namespace

Result<UniqueFd> listen_at(const fs::path& path, unsigned mode) {
  constexpr const char* kHint =
      "\"supervisor\": {\"control\": {\"socket\": PATH}} names another place.";
  const std::string text = path.string();
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const SocketAddress address(path);
  struct stat found{};
  if (lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return cannot_listen(text, EEXIST, kHint);
    // Two state folders, one socket.
    if (is_served(address)) {
      return fail(
          {.kind = "locked",
           .message = fmt::format("Another supervisor answers at {}.", text),
           .hint = kHint}
      );
    }
    ::unlink(path.c_str());
  }
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Nobody enters between bind and chmod: without listen() a connection is refused.
  if (!fd || bind(fd.get(), address.get(), address.size()) != 0 || chmod(text.c_str(), mode) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return cannot_listen(text, errno, kHint);
  }
  return fd;
}

Result<UniqueFd> listen_at(std::string_view address) {
  constexpr const char* kHint =
      "\"supervisor\": {\"health\": {\"listen\": \"127.0.0.1:PORT\"}} names another port.";
  const auto parts = settings::parse_address(address);
  if (!parts) return cannot_listen(std::string(address), EINVAL, kHint);
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(parts->port);
  if (getaddrinfo(parts->host.c_str(), port.c_str(), &wanted, &list) != 0) {
    return cannot_listen(std::string(address), EADDRNOTAVAIL, kHint);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, &freeaddrinfo);
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  // A supervisor that starts again does not wait for the last one's connections.
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), kBacklog) != 0) {
    return cannot_listen(std::string(address), errno, kHint);
  }
  return fd;
}

int port_of(const UniqueFd& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace pgflow::supervisor
