// `pgflow db url`: where the database is, in both forms that PostgreSQL's programs read.
#include <fmt/format.h>

#include <cstdlib>

#include "pg/dsn.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// What PostgreSQL's own variables say, but for the password.
std::string conninfo_of_variables() {
  static constexpr std::pair<const char*, const char*> kVariables[] = {
      {"PGSERVICE", "service"},
      {"PGHOST", "host"},
      {"PGHOSTADDR", "hostaddr"},
      {"PGPORT", "port"},
      {"PGUSER", "user"},
      {"PGDATABASE", "dbname"},
  };
  std::string text;
  for (const auto& [variable, keyword] : kVariables) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", keyword, value);
  }
  return text;
}

}  // namespace

Outcome<Exit> db_url(const Common& common) {
  Outcome<DatabaseAddress> address = find_database(common);
  if (!address) return tl::unexpected(address.error());
  Result<pg::Dsn> dsn = pg::Dsn::parse(address->url);
  if (!dsn) return tl::unexpected(Failure{Exit::usage, dsn.error()});
  const DatabaseUrlView view{
      address->url,
      address->url.empty() ? conninfo_of_variables() : dsn->secret_text(),
      address->source
  };
  if (common.output == Output::json) {
    print(to_json(view));
  } else {
    if (!view.url.empty()) print(view.url);
    if (view.conninfo != view.url) print(view.conninfo);
  }
  return Exit::ok;
}

}  // namespace pgflow::cli
