#include "supervisor/commands/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/proc.hpp"
#include "log/log.hpp"
#include "pg/sqlstate.hpp"

namespace pgflow::cli {
namespace {

// Error::kind of a config file's problems.
constexpr std::string_view kConfigProblems = "config_problems";

void print_line(const std::string& label, std::string_view text) {
  if (text.empty()) return;
  std::string line = fmt::format("{} {}\n", label, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!text.ends_with('\n')) std::fputc('\n', stdout);
}

void print_rows(const Common& common, std::string_view name, const std::vector<std::string>& rows) {
  if (common.output == Output::jsonl) {
    for (const std::string& row : rows) print(row);
    return;
  }
  print(fmt::format("{{\"{}\":[{}]}}", name, fmt::join(rows, ",")));
}

std::string this_person() {
  for (const char* name : {"SUDO_USER", "USER", "LOGNAME"}) {
    if (const char* user = std::getenv(name); user != nullptr && *user != '\0')
      return fmt::format("{}@{}", user, host_name());
  }
  return fmt::format("uid {}@{}", ::getuid(), host_name());
}

void print_hint(const Common& common, std::string_view hint) {
  if (common.output == Output::text && is_terminal(1)) print_remark(common, hint);
}

void print_remark(const Common& common, std::string_view hint) {
  std::fflush(stdout);
  print_line(common.err.dim("hint:"), hint);
}

void print_error(const Style& style, const Error& error) {
  std::fflush(stdout);
  if (error.kind == kConfigProblems) {  // complete lines already
    std::fwrite(error.message.data(), 1, error.message.size(), stderr);
    return;
  }
  print_line(style.red("error:"), error.message);
  print_line("detail:", error.detail);
  print_line("hint:", error.hint);
}

Failure failure(Error error) {
  // By SQLSTATE first: class, or the exact code where a class says too little.
  struct Rule {
    std::string_view prefix;
    Exit exit;
    std::string_view hint;
  };
  static constexpr Rule kBySqlstate[] = {
      {"28", Exit::no_permission, "check the user and the password in the connection URL"},
      {"42501",
       Exit::no_permission,
       "grant the role what it needs: `pgflow sql roles`, docs/roles.md"},
      {"3D000", Exit::unavailable, "create the database first, or correct its name"},
      {"3F000", Exit::config, "install the schema with `pgflow migrate up`"},
      {"42P01", Exit::config, "install or update the schema with `pgflow migrate up`"},
      {"42883", Exit::config, "install or update the schema with `pgflow migrate up`"},
      {"42703", Exit::config, "install or update the schema with `pgflow migrate up`"},
      {"22", Exit::bad_data, ""},
      {"23503", Exit::not_found, ""},
      {"23", Exit::bad_data, ""},
      {"25006", Exit::unavailable, "this server is a read-only standby; connect to the primary"},
      {"40", Exit::temporary, "try again"},
      {"53", Exit::unavailable, "the server is short of connections or memory"},
      {"55P03", Exit::temporary, "somebody else holds the lock; try again"},
      {"57", Exit::unavailable, "the server is starting or stopping; try again"},
      {"08", Exit::unavailable, "check that the server runs and that the connection URL names it"},
      {"P0001", Exit::bad_data, ""},
      {"P0002", Exit::not_found, ""},
  };
  for (const Rule& rule : kBySqlstate) {
    if (error.sqlstate.empty() || !std::string_view(error.sqlstate).starts_with(rule.prefix))
      continue;
    if (error.hint.empty()) error.hint = rule.hint;
    return {rule.exit, std::move(error)};
  }
  static constexpr std::pair<std::string_view, Exit> kByKind[] = {
      {pg::kConnectionFailed, Exit::unavailable},
      {pg::kConnectionLost, Exit::unavailable},
      {"timeout", Exit::unavailable},
      {"schema_locked", Exit::temporary},
      {"schema_missing", Exit::config},
      {"schema_behind", Exit::config},
      {"schema_newer", Exit::config},
      {"schema_foreign", Exit::config},
      {"schema_changed", Exit::config},
      {"no_way_back", Exit::usage},
      {"workers_alive", Exit::config},
      {"data_would_be_lost", Exit::config},
      {"pgmq_missing", Exit::config},
      {"pgmq_unusable", Exit::config},
      {"local_pg", Exit::unavailable},
      {"locked", Exit::cannot_create},
      {"os_error", Exit::os_error},
      {"state_dir_unusable", Exit::os_error},
      {"json", Exit::bad_data},
  };
  for (const auto& [kind, exit] : kByKind) {
    if (error.kind == kind) return {exit, std::move(error)};
  }
  return {Exit::internal, std::move(error)};
}

Failure config_failure(const settings::LoadError& error) {
  return {
      static_cast<Exit>(error.exit_code),
      {std::string(kConfigProblems), settings::text_of(error.problems)}
  };
}

void open_log(const settings::LogSettings& settings) {
  auto wanted = [](const char* first, const char* second, const std::string& otherwise) {
    for (const char* name : {first, second}) {
      const char* value = std::getenv(name);
      if (value != nullptr && *value != '\0') return std::string(value);
    }
    return otherwise;
  };
  log::Options options{.component = "supervisor"};
  if (const auto level =
          log::parse_level(wanted("PGFLOW_LOG_LEVEL", "EDGE_WORKER_LOG_LEVEL", settings.level))) {
    options.level = *level;
  }
  // "auto" is none of them and leaves it to the log.
  if (const auto format =
          log::parse_format(wanted("PGFLOW_LOG_FORMAT", "EDGE_WORKER_LOG_FORMAT", settings.format)
          )) {
    options.format = *format;
  }
  log::init(std::move(options));
}

}  // namespace pgflow::cli
