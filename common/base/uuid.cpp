// RFC 9562 versions 4 and 7.
#include "base/uuid.hpp"

#include <sys/random.h>

#include <chrono>

#include "base/bug.hpp"

namespace pgflow {
namespace {

UuidBytes random_bytes() {
  UuidBytes bytes;
  // Up to 256 bytes come whole and uninterrupted once the kernel's pool is ready.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    PGFLOW_BUG("getrandom gave no random bytes");
  }
  return bytes;
}

void stamp(UuidBytes& bytes, std::uint8_t version) {
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | (version << 4));
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

UuidBytes random_uuid() {
  UuidBytes bytes = random_bytes();
  stamp(bytes, 4);
  return bytes;
}

UuidBytes time_uuid() {
  UuidBytes bytes = random_bytes();
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch()
  );
  const auto ms = static_cast<std::uint64_t>(now.count());
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (8 * (5 - i)));
  stamp(bytes, 7);
  return bytes;
}

std::string uuid_text(const UuidBytes& bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (dash_before(i)) text += '-';
    text += kHex[bytes[i] >> 4];
    text += kHex[bytes[i] & 0x0f];
  }
  return text;
}

Result<UuidBytes> parse_uuid(std::string_view text) {
  const auto bad = [&] {
    return fail(
        {.kind = "invalid_uuid",
         .message = "\"" + std::string(text.substr(0, 64)) + "\" is not a UUID.",
         .hint = "A UUID looks like 7f3c0a1e-9b7d-4a54-8f0e-2d1c6b5a4e3f."}
    );
  };
  if (text.size() != 36) return bad();
  UuidBytes bytes;
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (dash_before(i) && text[at++] != '-') return bad();
    const int high = hex_value(text[at]), low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return bad();
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    at += 2;
  }
  return bytes;
}

}  // namespace pgflow
