// Names inside error texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pgflow::words {

inline std::string quote(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

inline std::string comma_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

}  // namespace pgflow::words
