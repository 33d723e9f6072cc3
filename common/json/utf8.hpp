// Bytes as valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace pgflow::json {

// The text, with U+FFFD in place of each byte that is no part of a valid character (overlong forms,
// surrogates and code points above U+10FFFF included).
std::string valid_utf8(std::string_view text);

}  // namespace pgflow::json
