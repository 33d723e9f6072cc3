// `pgflow sql`: SQL files for operators, printed as they were shipped.
#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.hpp"
#include "sql/bundle.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"

namespace pgflow::cli {

Outcome<Exit> sql(const std::string& name) {
  // Our PGMQ, for a database whose extension goes.
  if (name == "pgmq") {
    for (const sql::SqlFile& file : sql::pgmq()) print(file.text);
    return Exit::ok;
  }
  std::vector<std::string> known{"pgmq"};
  for (const sql::SqlFile& file : sql::operator_files()) {
    std::string verb(file.name);
    std::ranges::replace(verb, '_', '-');
    // The file has the name of its function.
    if (verb == "prune-data-older-than") verb = "prune";
    if (name == file.name || name == verb) {
      print(file.text);
      return Exit::ok;
    }
    known.push_back(std::move(verb));
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
