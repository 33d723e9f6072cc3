// Addresses as the config file writes them: "127.0.0.1:9464", "[::1]:9464".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pgflow::settings {

struct Address {
  std::string host;  // an IP address, without brackets
  int port = 0;
  bool loopback = false;  // reached from this machine only
};

// Nothing when it is none; names are none, since what they mean may change.
std::optional<Address> parse_address(std::string_view text);
// An IP address, of either kind.
bool is_ip(std::string_view text);

}  // namespace pgflow::settings
