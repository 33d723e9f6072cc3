// Who may come in, and what for: one keeper a door.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "supervisor/control/http_server.hpp"
#include "supervisor/control/routes.hpp"

namespace pgflow::supervisor {

// Immutable, so any thread may ask.
class Doorkeeper {
 public:
  virtual ~Doorkeeper() = default;
  // The answer for who may not; `route` is null when there is none.
  virtual std::optional<HttpAnswer> refuse(const HttpRequest& request, const Route* route)
      const = 0;
};

// A UNIX socket: root, the supervisor's own user, and whom the file mode lets in.
class SocketKeeper : public Doorkeeper {
 public:
  SocketKeeper(unsigned mode, uid_t owner, gid_t group)
      : mode_(mode), owner_(owner), group_(group) {}
  std::optional<HttpAnswer> refuse(const HttpRequest& request, const Route* route) const override;

 private:
  unsigned mode_;
  uid_t owner_;
  gid_t group_;
};

// TCP: no foreign web page (Host, Origin); without a token no order and nothing of what workers
// write.
class TcpKeeper : public Doorkeeper {
 public:
  TcpKeeper(std::string token, std::vector<std::string> hosts)
      : token_(std::move(token)), hosts_(std::move(hosts)) {}
  std::optional<HttpAnswer> refuse(const HttpRequest& request, const Route* route) const override;

 private:
  bool knows_host(std::string_view host) const;
  bool has_token(const HttpRequest& request) const;

  std::string token_;  // empty: read-only
  std::vector<std::string> hosts_;
};

}  // namespace pgflow::supervisor
