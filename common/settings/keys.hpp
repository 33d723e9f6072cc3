// Every key of a file that people write, once: what it is called, what it holds, what it is for.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pgflow::settings {

enum class Kind {
  object,
  list,
  text,
  slug,
  path,
  integer,
  number,
  boolean,
  duration,
  size,
  choice,
  env_value,  // a text, or {"from_env": NAME}
  json,       // any value
};

struct Key {
  std::string_view path;  // "flows[].steps.*.processes": [] any element, * any name
  Kind kind;
  std::string_view fallback = {};  // the default as text; empty: none, or computed
  bool required = false;
  // integer, number: limits; duration: limits in milliseconds; size: in bytes; list: least and most
  // elements.
  double minimum = 0;
  double maximum = 0;
  std::string_view choices = {};  // "a|b|c"
  std::string_view example = {};  // a right value, shown as the hint of a wrong one
  std::string_view doc = {};
};

// The format of a file: the rows of all its keys.
struct FileFormat {
  std::string_view title;
  std::string_view doc;
  std::span<const Key> keys;
};

// The config file.
const FileFormat& config_format();

// "flows[].slug" in "flows[]", "flows[]" in "flows", "version" in "".
std::string_view parent_of(std::string_view path);
// "slug", "[]", "*"
std::string_view name_of(std::string_view path);

// The JSON Schema of the format, made from its rows. config/pgflow.schema.json is the config
// file's.
std::string json_schema(const FileFormat& format);

}  // namespace pgflow::settings
