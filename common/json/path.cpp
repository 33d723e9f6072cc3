// JSON pointers, and the error that carries one.
#include "json/path.hpp"

namespace pgflow {

JsonError::JsonError(std::string at, std::string why)
    : Exception({"json", (at.empty() ? "(document)" : at) + ": " + why}),
      pointer(std::move(at)),
      reason(std::move(why)) {}

namespace json {

std::string Path::text() const {
  if (!parent_) {
    return "";
  }
  std::string pointer = parent_->text() + "/";
  if (is_index_) {
    return pointer + std::to_string(index_);
  }
  for (const char c : key_) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else if (c == '\0') {
      pointer += "\\u0000";  // what() would end at the byte itself
    } else {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace json
}  // namespace pgflow
