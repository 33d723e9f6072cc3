// Just enough JSON for the model: values, PostgreSQL's text of them, and containment.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace pgflow::test {

struct Json {
  enum class Kind { null, number, array, object };

  // jsonb's order of keys: the shorter first.
  struct KeyOrder {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
  };
  using Members = std::map<std::string, Json, KeyOrder>;

  Kind kind = Kind::null;
  int value = 0;
  std::vector<Json> items{};
  Members members{};

  static Json number(int value) { return {.kind = Kind::number, .value = value}; }
  static Json array(std::vector<Json> items) {
    return {.kind = Kind::array, .items = std::move(items)};
  }
  static Json object(Members members) {
    return {.kind = Kind::object, .members = std::move(members)};
  }

  bool operator==(const Json&) const = default;

  const char* type() const {
    switch (kind) {
      case Kind::null:
        return "null";
      case Kind::number:
        return "number";
      case Kind::array:
        return "array";
      case Kind::object:
        return "object";
    }
    return "";
  }

  // As jsonb prints it.
  std::string text() const {
    std::string out;
    switch (kind) {
      case Kind::null:
        return "null";
      case Kind::number:
        return std::to_string(value);
      case Kind::array:
        for (const Json& item : items) out += (out.empty() ? "" : ", ") + item.text();
        return "[" + out + "]";
      case Kind::object:
        for (const auto& [key, member] : members)
          out += (out.empty() ? "\"" : ", \"") + key + "\": " + member.text();
        return "{" + out + "}";
    }
    return out;
  }

  // jsonb's `@>`, for patterns that are objects.
  bool contains(const Json& pattern) const {
    if (kind != pattern.kind) return false;
    if (kind == Kind::object) {
      return std::all_of(pattern.members.begin(), pattern.members.end(), [&](const auto& wanted) {
        const auto found = members.find(wanted.first);
        return found != members.end() && found->second.contains(wanted.second);
      });
    }
    if (kind == Kind::array) {
      return std::all_of(pattern.items.begin(), pattern.items.end(), [&](const Json& wanted) {
        return std::any_of(items.begin(), items.end(), [&](const Json& item) {
          return item.contains(wanted);
        });
      });
    }
    return *this == pattern;
  }
};

}  // namespace pgflow::test
