#include "settings/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

namespace pgflow::settings {
namespace {

// Whether it is an address at all, and one of this machine's own loop.
std::optional<bool> loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return std::nullopt;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed != (host.find(':') != std::string_view::npos)) return std::nullopt;
  Address address{.host = std::string(host)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (address.port < 0 || address.port > 65'535) return std::nullopt;
  const auto is_loopback = loopback(address.host);
  if (!is_loopback) return std::nullopt;
  address.loopback = *is_loopback;
  return address;
}

bool is_ip(std::string_view text) {
  return loopback(std::string(text)).has_value();
}

}  // namespace pgflow::settings
