// The address of a UNIX socket, however long its path is.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>

#include "base/unique_fd.hpp"

namespace pgflow::supervisor {

// The kernel takes 107 bytes; a longer path is reached through its open folder, for as long as this
// object lives. A folder that is not there leaves an address that nothing answers: bind and connect
// say so.
class SocketAddress {
 public:
  explicit SocketAddress(const std::filesystem::path& path);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  UniqueFd folder_;
  sockaddr_un address_{};
};

}  // namespace pgflow::supervisor
