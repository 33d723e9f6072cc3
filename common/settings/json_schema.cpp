// Writes the JSON Schema of a file format from its rows.
#include <fmt/format.h>

#include "settings/keys.hpp"

namespace pgflow::settings {
namespace {

constexpr std::string_view kDuration = R"re(^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$)re";
constexpr std::string_view kSize = R"re(^(0|[0-9]+(\\.[0-9]+)?(B|KiB|MiB|GiB))$)re";
constexpr std::string_view kSlug = "^[a-zA-Z_][a-zA-Z0-9_]{0,127}$";

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string indent(int depth) {
  return std::string(static_cast<std::size_t>(depth) * 2, ' ');
}

class Schema {
 public:
  explicit Schema(std::span<const Key> keys) : keys_(keys) {}

  // The members of the object at `path`, and which of them must be there.
  void members(std::string_view path, int depth) {
    std::string required, properties;
    const Key* any = nullptr;
    for (const Key& key : keys_) {
      if (parent_of(key.path) != path || key.path == path) continue;
      if (name_of(key.path) == "*") any = &key;
      if (key.required) required += (required.empty() ? "" : ", ") + quoted(name_of(key.path));
    }
    line(depth, "\"type\": \"object\"");
    if (!required.empty()) line(depth, fmt::format("\"required\": [{}]", required));
    if (any != nullptr) {
      open(depth, "\"additionalProperties\"");
      value(*any, depth + 1);
      close(depth);
      return;
    }
    line(depth, "\"additionalProperties\": false");
    line(depth, "\"patternProperties\": {\"^x-\": {}}");
    open(depth, "\"properties\"");
    for (const Key& key : keys_) {
      if (parent_of(key.path) != path || key.path == path) continue;
      open(depth + 1, quoted(name_of(key.path)));
      value(key, depth + 2);
      close(depth + 1);
    }
    close(depth);
  }

  void line(int depth, std::string_view text) {
    text_ += first_ ? "\n" : ",\n";
    text_ += indent(depth);
    text_ += text;
    first_ = false;
  }

  std::string take() { return "{" + text_ + "\n}\n"; }

 private:
  void open(int depth, std::string_view name) {
    line(depth, fmt::format("{}: {{", name));
    first_ = true;
  }
  void close(int depth) {
    text_ += "\n" + indent(depth) + "}";
    first_ = false;
  }

  void value(const Key& key, int depth) {
    line(depth, "\"description\": " + quoted(key.doc));
    switch (key.kind) {
      case Kind::object:
        members(key.path, depth);
        return;
      case Kind::list:
        line(depth, "\"type\": \"array\"");
        line(depth, fmt::format("\"minItems\": {}", static_cast<int>(key.minimum)));
        for (const Key& element : keys_) {
          if (parent_of(element.path) != key.path || name_of(element.path) != "[]") continue;
          open(depth, "\"items\"");
          value(element, depth + 1);
          close(depth);
        }
        return;
      case Kind::text:
      case Kind::path:
        line(depth, "\"type\": \"string\"");
        break;
      case Kind::slug:
        line(depth, "\"type\": \"string\"");
        line(depth, fmt::format("\"pattern\": \"{}\"", kSlug));
        break;
      case Kind::json:
        break;
      case Kind::integer:
      case Kind::number:
        line(depth, key.kind == Kind::integer ? "\"type\": \"integer\"" : "\"type\": \"number\"");
        line(depth, fmt::format("\"minimum\": {}", static_cast<int>(key.minimum)));
        line(depth, fmt::format("\"maximum\": {}", static_cast<int>(key.maximum)));
        break;
      case Kind::boolean:
        line(depth, "\"type\": \"boolean\"");
        break;
      case Kind::duration:
        line(depth, "\"type\": \"string\"");
        line(depth, fmt::format("\"pattern\": \"{}\"", kDuration));
        break;
      case Kind::size:
        line(depth, "\"type\": \"string\"");
        line(depth, fmt::format("\"pattern\": \"{}\"", kSize));
        break;
      case Kind::choice: {
        std::string choices = quoted(key.choices);
        for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 4) {
          choices.replace(at, 1, "\", \"");
        }
        line(depth, fmt::format("\"enum\": [{}]", choices));
        break;
      }
      case Kind::env_value:
        line(depth, "\"type\": [\"string\", \"object\"]");
        line(depth, "\"required\": [\"from_env\"]");
        line(depth, "\"additionalProperties\": false");
        line(depth, "\"properties\": {\"from_env\": {\"type\": \"string\"}}");
        break;
    }
    if (!key.fallback.empty()) {
      const bool bare =
          key.kind == Kind::integer || key.kind == Kind::number || key.kind == Kind::boolean;
      line(depth, "\"default\": " + (bare ? std::string(key.fallback) : quoted(key.fallback)));
    }
  }

  std::span<const Key> keys_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string json_schema(const FileFormat& format) {
  Schema schema(format.keys);
  schema.line(1, "\"$schema\": \"http://json-schema.org/draft-07/schema#\"");
  schema.line(1, "\"title\": " + quoted(format.title));
  schema.line(1, "\"description\": " + quoted(format.doc));
  schema.members("", 1);
  return schema.take();
}

}  // namespace pgflow::settings
