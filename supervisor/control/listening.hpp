// The sockets that a supervisor listens on.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::supervisor {

// A UNIX socket with exactly this file mode. What lies at the path must be a socket, and is
// removed if nobody listens there any more; the caller holds the lock that says whose it is. Error
// kind "not_listening".
Result<UniqueFd> listen_at(const std::filesystem::path& path, unsigned mode);

// A TCP socket at "127.0.0.1:9464" or "[::1]:9464". Error kind "not_listening".
Result<UniqueFd> listen_at(std::string_view address);

// "127.0.0.1:0" gave which port?
int port_of(const UniqueFd& listening);

}  // namespace pgflow::supervisor
