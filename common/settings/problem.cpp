#include "settings/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pgflow::settings {

std::string Problem::location_and_reason() const {
  if (file.empty()) return reason;  // a syntax error: the parser's own text says where
  std::string text = file;
  if (position.line > 0) text += fmt::format(":{}:{}", position.line, position.column);
  if (!path.empty()) text += ": " + path;
  return text + ": " + reason;
}

std::string text_of(std::span<const Problem> problems) {
  std::string text;
  for (const Problem& problem : problems) {
    text += (problem.warning ? "warning: " : "error: ") + problem.location_and_reason() + "\n";
    if (!problem.hint.empty()) text += "hint: " + problem.hint + "\n";
  }
  return text;
}

void Problems::add(
    Position position, std::string path, std::string reason, std::string hint, bool warning
) {
  problems_.push_back(
      {file_, position, std::move(path), std::move(reason), std::move(hint), warning}
  );
}

std::vector<Problem> Problems::take() {
  std::stable_sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.position.line, a.position.column) <
           std::pair(b.position.line, b.position.column);
  });
  return std::move(problems_);
}

Position Problems::located(std::size_t offset) const {
  const auto [line, column] = json::locate(text_, offset);
  return {static_cast<int>(line), static_cast<int>(column)};
}

std::string got(const json::Value& node) {
  const bool is_empty_list = node.type == json::Type::array && node.items.empty();
  return ", got " + (is_empty_list ? "an empty list" : node.shown());
}

std::string member_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

}  // namespace pgflow::settings
