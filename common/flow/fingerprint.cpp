// SHA-256 from OpenSSL's libcrypto, which libpq brings anyway.
#include "flow/fingerprint.hpp"

#include <openssl/evp.h>

#include <array>

#include "base/bug.hpp"

namespace pgflow {

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    PGFLOW_BUG("SHA-256 is not available");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    hex += kDigits[digest[i] >> 4U];
    hex += kDigits[digest[i] & 15U];
  }
  return hex;
}

}  // namespace pgflow
