// Where in a document the codec stands: a linked list on the stack that costs nothing until there
// is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <pgflow/error.hpp>

namespace pgflow::json {

class Path {
 public:
  Path() = default;  // the document
  Path(const Path& parent, std::string_view key) : parent_(&parent), key_(key) {}
  Path(const Path& parent, std::size_t index) : parent_(&parent), index_(index), is_index_(true) {}

  // As RFC 6901 pointer.
  std::string text() const;
  [[noreturn]] void fail(std::string reason) const { throw JsonError(text(), std::move(reason)); }

 private:
  const Path* parent_ = nullptr;
  std::string_view key_{};
  std::size_t index_ = 0;
  bool is_index_ = false;
};

}  // namespace pgflow::json
