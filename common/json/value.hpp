// A parsed JSON document: a tree whose numbers stay text and whose values know where they stood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pgflow::json {

struct Member;

enum class Type : std::uint8_t { null, boolean, number, string, array, object };

struct Value {
  Type type = Type::null;
  bool flag = false;            // boolean
  std::string text{};           // number (as written), string
  std::vector<Value> items{};   // array
  std::vector<Member> members;  // object, as written: duplicate keys are kept; no default
                                // initializer, because Member is not complete here
  std::size_t offset = 0;       // byte where the value begins; see locate()

  // The last member of that name, as jsonb keeps it; null when there is none or this is no object.
  const Value* find(std::string_view name) const;

  // The value when it is of that kind; an integer also when written as 1e3 or 2.0.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int64() const;
  std::optional<double> as_double() const;
  std::optional<std::string_view> as_string() const;

  // "an object", "null", … for messages.
  const char* type_words() const;
  // The value itself when it is short, else type_words(): `got "halp"`.
  std::string shown() const;
};

struct Member {
  std::string name;
  std::size_t offset = 0;  // byte where the name's quote stands
  Value value;
};

struct ParseOptions {
  bool comments = false;         // // and /* */
  bool trailing_commas = false;  // [1, 2,]
  bool unique_names = false;     // a repeated key is an error
  std::string source{};  // file name for messages: "file:3:14: …" instead of "line 3, column 14: …"
};

// For files that people write.
inline ParseOptions with_comments(std::string source) {
  return {
      .comments = true, .trailing_commas = true, .unique_names = true, .source = std::move(source)
  };
}

// Reads exactly one value. Error kind "json"; refuses what jsonb cannot store (U+0000, lone
// surrogates, invalid UTF-8) and more than kMaxDepth nested levels.
Result<Value> parse(std::string_view text, const ParseOptions& options = {});

inline constexpr std::size_t kMaxDepth = 512;

// Both counted from 1; the column in characters.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};
Position locate(std::string_view text, std::size_t offset);

}  // namespace pgflow::json
