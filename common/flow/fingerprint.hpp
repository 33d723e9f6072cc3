// SHA-256, the short name of a definition.
#pragma once

#include <string>
#include <string_view>

namespace pgflow {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace pgflow
