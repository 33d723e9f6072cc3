#include "support/faulty_proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <list>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace pgflow::test {
namespace {

constexpr char kPort[] = "5432";

sockaddr_un address(const std::string& folder, const std::string& port) {
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  (folder + "/.s.PGSQL." + port).copy(where.sun_path, sizeof where.sun_path - 1);
  return where;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// What is there now; empty: the end.
std::string receive(int socket) {
  std::array<char, 65'536> buffer;
  const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

struct FaultyProxy::Pair {
  int client = -1;
  int server = -1;
  bool drops_reply = false;
  bool is_frozen = false;

  Pair(int from, int to) : client(from), server(to) {}
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    ::close(client);
    ::close(server);
  }
};

FaultyProxy::FaultyProxy(const Server& upstream) : upstream_(upstream) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un here = address(folder_.path(), kPort);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(listener_, 64) != 0) {
    throw std::runtime_error("the proxy cannot listen in " + folder_.path());
  }
  thread_ = std::thread([this] { serve(); });
}

FaultyProxy::~FaultyProxy() {
  ends_ = true;
  thread_.join();
  ::close(listener_);
}

std::string FaultyProxy::url(const Database& database) const {
  // A later keyword wins.
  return database.url() + " host=" + folder_.path() + " port=" + kPort;
}

void FaultyProxy::arm(Fault fault, std::string text) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  text_ = std::move(text);
  seen_.clear();
}

void FaultyProxy::disarm() {
  const std::lock_guard lock(mutex_);
  fault_.reset();
}

namespace {

// A statement that is prepared and nothing else: Parse, then Sync (PostgreSQL's protocol, 55.2.3).
bool is_preparation(const std::string& request) {
  if (request.size() < 5 || request[0] != 'P') return false;
  std::size_t length = 0;  // of Parse without its type, big-endian
  for (int i = 1; i <= 4; ++i)
    length = length << 8U | static_cast<unsigned char>(request[static_cast<std::size_t>(i)]);
  return request.size() > length + 1 && request[length + 1] == 'S';
}

}  // namespace

std::optional<Fault> FaultyProxy::judge(const std::string& request) {
  const std::lock_guard lock(mutex_);
  if (!fault_ || is_preparation(request) || request.find(text_) == std::string::npos ||
      !seen_.insert(request).second) {
    return std::nullopt;
  }
  ++faults_;
  return fault_;
}

void FaultyProxy::serve() {
  // "ready for query": the server has answered, and what it did is committed.
  constexpr std::string_view kReady("Z\0\0\0\5I", 6);
  std::list<Pair> pairs;
  while (!ends_) {
    std::vector<pollfd> wait{{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs) {
      const short events = pair.is_frozen ? 0 : POLLIN;
      wait.push_back({pair.is_frozen ? -1 : pair.client, events, 0});
      wait.push_back({pair.is_frozen ? -1 : pair.server, events, 0});
    }
    ::poll(wait.data(), wait.size(), 20);

    std::size_t at = 1;
    for (auto pair = pairs.begin(); pair != pairs.end(); at += 2) {
      bool stays = true;
      if (wait[at].revents != 0) {
        const std::string request = receive(pair->client);
        const auto fault = judge(request);
        pair->drops_reply = pair->drops_reply || fault == Fault::drop_reply;
        pair->is_frozen = fault == Fault::freeze;
        stays = !request.empty() && fault != Fault::cut_request;
        if (stays && !pair->is_frozen) stays = send_all(pair->server, request);
      }
      if (stays && wait[at + 1].revents != 0) {
        const std::string reply = receive(pair->server);
        stays = !reply.empty();
        if (!pair->drops_reply) {
          stays = stays && send_all(pair->client, reply);
        } else if (reply.ends_with(kReady)) {
          stays = false;
        }
      }
      pair = stays ? std::next(pair) : pairs.erase(pair);
    }

    if (wait[0].revents != 0) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_un there = address(upstream_.host, upstream_.port);
      pairs.emplace_back(client, server);
      if (::connect(server, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
        pairs.pop_back();
      }
    }
  }
}

}  // namespace pgflow::test
