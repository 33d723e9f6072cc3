// `pgflow sql`: SQL files for operators, printed as they were shipped.
#include <fmt/format.h>

#include "base/did_you_mean.hpp"
#include "sql/bundle.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"

namespace pgflow::cli {

Outcome<Exit> sql(const std::string& name) {
  std::vector<std::string> known;
  for (const sql::SqlFile& file : sql::operator_files()) {
    // `prune` is short for prune_data_older_than.
    const std::string_view verb = file.name.substr(0, file.name.find('_'));
    if (name == file.name || name == verb) {
      print(file.text);
      return Exit::ok;
    }
    known.emplace_back(verb);
  }
  std::string guess = did_you_mean_hint(name, known);
  return refuse(
      Exit::usage,
      fmt::format("no SQL file \"{}\"", name),
      fmt::format("there are: {}", fmt::join(known, ", ")),
      guess.empty() ? "pgflow sql " + known.front() : guess
  );
}

}  // namespace pgflow::cli
