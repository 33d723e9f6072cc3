// PostgreSQL's jsonb `@>`, and the check whether a type's values could ever contain a pattern.
#include <algorithm>

#include <pgflow/json.hpp>

#include "json/codec.hpp"

namespace pgflow {
namespace {

using namespace detail;
using json::Path;
using json::Type;
using json::Value;

// A number as sign, digits without outer zeros, and exponent: jsonb compares exactly, 1.0 equals 1.
struct Decimal {
  bool negative = false;
  std::string digits;
  long exponent = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

Decimal decimal(std::string_view text) {
  Decimal d;
  if (text.front() == '-') {
    d.negative = true;
    text.remove_prefix(1);
  }
  const std::size_t e = text.find_first_of("eE");
  if (e != text.npos) {
    d.exponent = std::stol(std::string(text.substr(e + 1)));
    text = text.substr(0, e);
  }
  bool fraction = false;
  for (const char c : text) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    d.digits += c;
    d.exponent -= fraction ? 1 : 0;
  }
  d.digits.erase(0, std::min(d.digits.find_first_not_of('0'), d.digits.size()));
  while (!d.digits.empty() && d.digits.back() == '0') {
    d.digits.pop_back();
    ++d.exponent;
  }
  return d.digits.empty() ? Decimal{} : d;
}

bool is_scalar(const Value& value) {
  return value.type != Type::array && value.type != Type::object;
}

bool scalars_equal(const Value& a, const Value& b) {
  if (a.type != b.type) {
    return false;
  }
  switch (a.type) {
    case Type::null:
      return true;
    case Type::boolean:
      return a.flag == b.flag;
    case Type::number:
      return decimal(a.text) == decimal(b.text);
    default:
      return a.text == b.text;
  }
}

bool contains(const Value& value, const Value& pattern) {
  if (value.type == Type::array && pattern.type == Type::array) {
    return std::all_of(pattern.items.begin(), pattern.items.end(), [&](const Value& wanted) {
      return std::any_of(value.items.begin(), value.items.end(), [&](const Value& item) {
        return contains(item, wanted);
      });
    });
  }
  if (value.type == Type::object && pattern.type == Type::object) {
    return std::all_of(
        pattern.members.begin(),
        pattern.members.end(),
        [&](const json::Member& wanted) {
          const Value* found = value.find(wanted.name);
          return found && contains(*found, *pattern.find(wanted.name));
        }
    );
  }
  return is_scalar(value) && is_scalar(pattern) && scalars_equal(value, pattern);
}

// ---- Patterns against types
void require(bool fits, const char* what, const Value& pattern, const Path& at) {
  if (!fits) {
    json::expected(at, what, pattern);
  }
}

void check(const TypeInfo& type, const Value& pattern, const Path& at) {
  switch (type.kind) {
    case Kind::optional:
      if (pattern.type != Type::null) {
        check(type.element(), pattern, at);
      }
      return;
    case Kind::object: {
      require(pattern.type == Type::object, "an object", pattern, at);
      const auto fields = json::fields_of(type);
      for (const json::Member& member : pattern.members) {
        const Path here(at, member.name);
        const auto field = std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& f) {
          return f.name == member.name;
        });
        if (field == fields.end()) {
          here.fail("is no member of " + std::string(type.name));
        }
        check(field->type(), member.value, here);
      }
      return;
    }
    case Kind::sequence:
      require(pattern.type == Type::array, "an array", pattern, at);
      for (std::size_t i = 0; i < pattern.items.size(); ++i) {
        check(type.element(), pattern.items[i], Path(at, i));
      }
      return;
    case Kind::map:
      require(pattern.type == Type::object, "an object", pattern, at);
      for (const json::Member& member : pattern.members) {
        check(type.element(), member.value, Path(at, member.name));
      }
      return;
    case Kind::null:
      return require(pattern.type == Type::null, "null", pattern, at);
    case Kind::boolean:
      return require(pattern.type == Type::boolean, "a boolean", pattern, at);
    case Kind::integer:
    case Kind::unsigned_integer:
    case Kind::real:
      return require(pattern.type == Type::number, "a number", pattern, at);
    case Kind::string:
      return require(pattern.type == Type::string, "a string", pattern, at);
    case Kind::enumeration: {
      long long room = 0;
      return json::decode(type, &room, pattern, at);
    }
    case Kind::raw:
    case Kind::tuple:
    case Kind::variant:
    case Kind::via:
      return;  // anything may match
  }
}

}  // namespace

bool json_contains(std::string_view value, std::string_view pattern) {
  const Value whole = json::parse_or_throw(value);
  const Value wanted = json::parse_or_throw(pattern);
  // An exception of PostgreSQL's, at the top level only: '["a"]' contains '"a"'.
  if (whole.type == Type::array && is_scalar(wanted)) {
    return std::any_of(whole.items.begin(), whole.items.end(), [&](const Value& item) {
      return is_scalar(item) && scalars_equal(item, wanted);
    });
  }
  return contains(whole, wanted);
}

namespace detail {

void check_pattern(const TypeInfo& type, std::string_view pattern) {
  check(type, json::parse_or_throw(pattern), {});
}

}  // namespace detail
}  // namespace pgflow
