// What every reader of JSON events shares: RapidJSON's flags, the refusal of what jsonb cannot
// store, and places in messages.
#pragma once

#include <string>
#include <string_view>

#include "json/rapidjson.hpp"
#include "json/value.hpp"

namespace pgflow::json {

using Stream = rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream>;

// RapidJSON's own flag for its iterative parser: the recursive one could overflow the stack.
constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                            rapidjson::kParseValidateEncodingFlag;

// "line 3, column 14", or "file:3:14" when the text has a name.
std::string place(std::string_view text, std::size_t offset, const std::string& source);

// The part of a handler of RapidJSON's events that may say no.
class Refusing {
 public:
  Refusing(std::string_view text, const Stream& stream) : text_(text), stream_(stream) {}

  const std::string& refusal() const { return refusal_; }
  std::size_t refused_at() const { return refused_at_; }

 protected:
  bool storable(std::string_view s) {
    if (s.find('\0') != s.npos) {
      return refuse(
          "a string contains U+0000, which PostgreSQL jsonb cannot store", opening_quote()
      );
    }
    // RapidJSON lets "\udc00" through and writes it as a three-byte sequence that is no UTF-8.
    for (std::size_t i = s.find('\xED'); i != s.npos; i = s.find('\xED', i + 1)) {
      if (i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) >= 0xA0) {
        return refuse(
            "a string contains a lone surrogate, which PostgreSQL jsonb cannot store",
            opening_quote()
        );
      }
    }
    return true;
  }
  bool refuse(std::string why, std::size_t offset) {
    if (refusal_.empty()) {
      refusal_ = std::move(why);
      refused_at_ = offset;
    }
    return false;
  }

  // The reader stands behind a string's closing quote; between the two quotes every other one is
  // escaped.
  std::size_t opening_quote() const {
    std::size_t at = stream_.Tell() - 1;
    for (std::size_t backslashes = 1; backslashes % 2 == 1;) {
      at = text_.rfind('"', at - 1);
      backslashes = 0;
      while (backslashes < at && text_[at - 1 - backslashes] == '\\') {
        ++backslashes;
      }
    }
    return at;
  }

  std::string_view text_;
  const Stream& stream_;

 private:
  std::string refusal_;
  std::size_t refused_at_ = 0;
};

}  // namespace pgflow::json
