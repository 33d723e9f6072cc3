// What is wrong with a config file: each problem with its place, collected until all are known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.hpp"
#include "settings/settings.hpp"

namespace pgflow::settings {

// One thing wrong, where it stands and what would be right.
struct Problem {
  std::string file;
  Position position;
  std::string path;    // "flows[0].steps.classify.processes"
  std::string reason;  // "must be an integer from 0 to 1000, got "four""
  std::string hint;
  bool warning = false;

  // file:line:column: path: reason
  std::string location_and_reason() const;
};

// The lines that a terminal shows: "error: …" and "hint: …" for each problem.
std::string text_of(std::span<const Problem> problems);

class Problems {
 public:
  Problems(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  Position at(const json::Value& node) const { return located(node.offset); }
  Position at(const json::Member& member) const { return located(member.offset); }

  void add(
      Position position,
      std::string path,
      std::string reason,
      std::string hint = {},
      bool warning = false
  );

  bool empty() const { return problems_.empty(); }
  // In file order.
  std::vector<Problem> take();

 private:
  Position located(std::size_t offset) const;

  std::string file_;
  std::string_view text_;
  std::vector<Problem> problems_;
};

// ", got …": what was found instead.
std::string got(const json::Value& node);

// "flows[0]" and "slug" make "flows[0].slug".
std::string member_path(const std::string& path, std::string_view name);

}  // namespace pgflow::settings
