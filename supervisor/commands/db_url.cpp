// `pgflow db url`: where the database is, in both forms that PostgreSQL's programs read.
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "pg/dsn.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// libpq's keywords in the order in which people think of them, and the variables that stand for
// them.
constexpr std::pair<const char*, const char*> kKeywords[] = {
    {"service", "PGSERVICE"},
    {"host", "PGHOST"},
    {"hostaddr", "PGHOSTADDR"},
    {"port", "PGPORT"},
    {"user", "PGUSER"},
    {"dbname", "PGDATABASE"},
};

std::string quoted(const std::string& value) {
  if (!value.empty() && value.find_first_of(" '\\") == std::string::npos) return value;
  std::string result = "'";
  for (char c : value) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// "host=/run/pgflow/3f9a user=pgflow dbname=pgflow"
std::string conninfo(std::map<std::string, std::string> options) {
  std::string text;
  auto add = [&text](const std::string& keyword, const std::string& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", keyword, quoted(value));
  };
  for (const auto& [keyword, variable] : kKeywords) {
    if (auto option = options.extract(keyword)) add(option.key(), option.mapped());
  }
  for (const auto& [keyword, value] : options) add(keyword, value);
  return text;
}

// What PostgreSQL's own variables say, but for the password.
std::map<std::string, std::string> options_of_variables() {
  std::map<std::string, std::string> options;
  for (const auto& [keyword, variable] : kKeywords) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') options.emplace(keyword, value);
  }
  return options;
}

}  // namespace

Outcome<Exit> db_url(const Common& common) {
  Outcome<DatabaseAddress> address = find_database(common);
  if (!address) return tl::unexpected(address.error());
  Result<pg::Dsn> dsn = pg::Dsn::parse(address->url);
  if (!dsn) return tl::unexpected(Failure{Exit::usage, dsn.error()});
  const DatabaseUrlView view{
      address->url,
      conninfo(address->url.empty() ? options_of_variables() : dsn->options()),
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
