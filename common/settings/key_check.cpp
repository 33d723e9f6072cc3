#include "settings/key_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include <pgflow/ids.hpp>

#include "base/did_you_mean.hpp"
#include "settings/duration.hpp"

namespace pgflow::settings {
namespace {

using Node = json::Value;

bool is(const Node& node, json::Type type) {
  return node.type == type;
}

class KeyCheck {
 public:
  KeyCheck(std::span<const Key> keys, Problems& problems) : keys_(keys), problems_(problems) {}

  void members(const Node& object, std::string_view pattern, const std::string& path) {
    std::map<std::string_view, int> seen;
    for (const auto& member : object.members) {
      const Position here = problems_.at(member);
      const std::string its_path = member_path(path, member.name);
      const Key* key = child(pattern, member.name);
      if (key == nullptr) {
        if (!member.name.starts_with("x-")) unknown(pattern, member.name, here, its_path);
        continue;
      }
      if (const auto [first, fresh] = seen.emplace(member.name, here.line); !fresh) {
        problems_.add(
            here,
            its_path,
            fmt::format("is given twice, first in line {}", first->second),
            "Remove one of the two."
        );
      }
      value(member.value, *key, its_path);
    }
    for (const Key& key : keys_) {
      if (!key.required || parent_of(key.path) != pattern || key.path.empty()) continue;
      const auto name = name_of(key.path);
      if (seen.contains(name)) continue;
      problems_.add(
          problems_.at(object),
          member_path(path, name),
          "is missing",
          fmt::format("\"{}\": {}", name, key.example.empty() ? "…" : key.example)
      );
    }
  }

 private:
  const Key* child(std::string_view pattern, std::string_view name) const {
    const Key* any = nullptr;
    for (const Key& key : keys_) {
      if (parent_of(key.path) != pattern || key.path == pattern) continue;
      if (name_of(key.path) == name) return &key;
      if (name_of(key.path) == "*") any = &key;
    }
    return any;
  }

  void unknown(
      std::string_view pattern, const std::string& name, Position here, const std::string& path
  ) {
    std::vector<std::string> known;
    for (const Key& key : keys_) {
      if (parent_of(key.path) == pattern && name_of(key.path) != "[]") {
        known.emplace_back(name_of(key.path));
      }
    }
    std::string hint = did_you_mean_hint(name, known);
    if (hint.empty()) hint = fmt::format("Known here: {}.", fmt::join(known, ", "));
    problems_.add(here, path, "is not a known key", std::move(hint));
  }

  void value(const Node& node, const Key& key, const std::string& path) {
    if (!fits(node, key)) {
      problems_.add(
          problems_.at(node),
          path,
          "must be " + wanted(key) + got(node),
          key.example.empty() ? "" : example(key)
      );
      return;
    }
    if (key.kind == Kind::json) return;
    if (is(node, json::Type::object)) members(node, key.path, path);
    if (is(node, json::Type::array)) {
      const Key* element = child(key.path, "[]");
      const auto& elements = node.items;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        value(elements[i], *element, fmt::format("{}[{}]", path, i));
      }
    }
  }

  static std::string example(const Key& key) {
    const auto name = name_of(key.path);
    if (name == "[]" || name == "*") return fmt::format("For example {}.", key.example);
    return fmt::format("\"{}\": {}", name, key.example);
  }

  static bool fits(const Node& node, const Key& key) {
    switch (key.kind) {
      case Kind::object:
        return is(node, json::Type::object);
      case Kind::list:
        return is(node, json::Type::array) && static_cast<double>(node.items.size()) >= key.minimum;
      case Kind::text:
      case Kind::path:
        return is(node, json::Type::string) && !node.text.empty();
      case Kind::slug:
        return is(node, json::Type::string) && check_slug(node.text) == SlugProblem::none;
      case Kind::integer: {
        const auto number = node.as_int64();
        return number && static_cast<double>(*number) >= key.minimum &&
               static_cast<double>(*number) <= key.maximum;
      }
      case Kind::number: {
        const auto number = node.as_double();
        return number && *number >= key.minimum && *number <= key.maximum;
      }
      case Kind::boolean:
        return node.as_bool().has_value();
      case Kind::duration: {
        if (!is(node, json::Type::string)) return false;
        const auto duration = parse_duration(node.text);
        return duration && static_cast<double>(duration->count()) >= key.minimum &&
               static_cast<double>(duration->count()) <= key.maximum;
      }
      case Kind::size: {
        if (!is(node, json::Type::string)) return false;
        const auto size = parse_size(node.text);
        return size && static_cast<double>(*size) >= key.minimum &&
               static_cast<double>(*size) <= key.maximum;
      }
      case Kind::choice:
        return is(node, json::Type::string) && !node.text.empty() &&
               node.text.find('|') == std::string::npos &&
               fmt::format("|{}|", key.choices).find("|" + node.text + "|") != std::string::npos;
      case Kind::env_value:
        return is(node, json::Type::string) || is(node, json::Type::object);
      case Kind::json:
        return true;
    }
    return false;
  }

  static std::string wanted(const Key& key) {
    const auto limit = [](double value) { return static_cast<long long>(value); };
    const auto time = [&](double value) { return duration_text(Milliseconds(limit(value))); };
    switch (key.kind) {
      case Kind::object:
        return "an object";
      case Kind::list:
        return key.minimum > 0 ? "a list with at least one element" : "a list";
      case Kind::text:
        return "a text that is not empty";
      case Kind::path:
        return "a path";
      case Kind::slug:
        return "a slug: letters, digits and single _, from a letter to a letter or digit, at most "
               "128, "
               "not \"run\"";
      case Kind::integer:
        if (key.minimum == key.maximum) return fmt::format("{}", limit(key.minimum));
        return fmt::format("an integer from {} to {}", limit(key.minimum), limit(key.maximum));
      case Kind::number:
        return fmt::format("a number from {} to {}", limit(key.minimum), limit(key.maximum));
      case Kind::boolean:
        return "true or false";
      case Kind::duration:
        return fmt::format("a duration from {} to {}", time(key.minimum), time(key.maximum));
      case Kind::size:
        return fmt::format("a size like 512MiB or 2GiB, at most {}", size_text(limit(key.maximum)));
      case Kind::choice: {
        std::string choices(key.choices);
        for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; ++at) {
          choices.replace(at, 1, ", ");
        }
        return "one of " + choices;
      }
      case Kind::env_value:
        return "a text or {\"from_env\": NAME}";
      case Kind::json:
        return "a value";
    }
    return "";
  }

  std::span<const Key> keys_;
  Problems& problems_;
};

}  // namespace

void check_keys(const json::Value& root, const FileFormat& format, Problems& problems) {
  KeyCheck(format.keys, problems).members(root, "", "");
}

}  // namespace pgflow::settings
