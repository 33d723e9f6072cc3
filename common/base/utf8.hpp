// Bytes as UTF-8 characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pgflow {

// Bytes of the well-formed character at the start of `text`, U+0000 included; 0 when there is none.
std::size_t utf8_length(std::string_view text);

// The text, with U+FFFD in place of each byte that is no part of a valid character (overlong forms,
// surrogates and code points above U+10FFFF included).
std::string valid_utf8(std::string_view text);

}  // namespace pgflow
