// `pgflow migrate up|down|status|sql|validate`: the schema in the database against the one in this
// program.
#include <fmt/format.h>

#include "json/writer.hpp"
#include "sql/bundle.hpp"
#include "store/migration_script.hpp"
#include "store/migrator.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: the names of all migrations of this program, in order; only for a database with the marker
// table.
constexpr std::string_view kMigrations = R"sql(
select json_agg(json_build_object(
  'name', wanted.name,
  'applied', m.version is not null,
  'applied_at', m.applied_at) order by wanted.n)
from unnest($1::text[]) with ordinality as wanted (name, n)
left join pgflow.schema_migrations m on m.name = wanted.name
)sql";

std::vector<std::string> migration_names() {
  std::vector<std::string> names;
  for (const sql::SqlFile& file : sql::migrations()) names.emplace_back(file.name);
  return names;
}

Outcome<MigrationsView> look(Database& database) {
  auto status = database.await<store::SchemaStatus>([&](auto done) {
    store::Migrator(database.connection()).status(std::move(done));
  });
  if (!status) return tl::unexpected(status.error());
  MigrationsView view;
  view.state = name(status->state);
  view.pgmq = name(status->pgmq);
  view.version = status->version;
  view.wanted = status->wanted;
  if (std::optional<Error> problem = store::schema_problem(*status)) view.problem = problem->text();
  if (status->state == store::SchemaState::none || status->state == store::SchemaState::foreign) {
    for (const std::string& migration : migration_names())
      view.migrations.push_back({migration, false, {}});
    return view;
  }
  auto migrations = database.value(kMigrations, {array_text(migration_names())});
  if (!migrations) return tl::unexpected(migrations.error());
  view.migrations = from_json<std::vector<MigrationView>>(**migrations);
  return view;
}

// The lines of a detail below the first, moved in like the first.
std::string indented(const std::string& lines) {
  std::string text;
  for (const char c : lines) (text += c) += c == '\n' ? "  " : "";
  return text;
}

}  // namespace

Outcome<Exit> migrate_up(const Common& common, const MigrateArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open(common);
  if (!database) return tl::unexpected(database.error());
  auto report = (*database)->await<store::UpReport>([&](auto done) {
    store::Migrator((*database)->connection()).up({.adopt = arguments.adopt}, std::move(done));
  });
  if (!report) return tl::unexpected(report.error());
  if (common.output == Output::json) {
    const MigrateUpView view{
        report->from, report->to, report->applied, report->adopted, std::string(name(report->pgmq))
    };
    print(to_json(view));
    return Exit::ok;
  }
  for (const std::string& migration : report->applied) {
    print(fmt::format("{} {}", common.out.green("✓"), migration));
  }
  print(fmt::format(
      "schema pgflow  version {}  {}",
      report->to,
      report->adopted ? "adopted"
      : report->applied.empty()
          ? "up to date"
          : fmt::format("{} applied", counted(std::ssize(report->applied), "migration"))
  ));
  return Exit::ok;
}

Outcome<Exit> migrate_down(const Common& common, const MigrateArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open(common);
  if (!database) return tl::unexpected(database.error());
  auto report = (*database)->await<store::DownReport>([&](auto done) {
    store::Migrator((*database)->connection()).down(arguments.to, std::move(done));
  });
  if (!report) return tl::unexpected(report.error());
  if (common.output == Output::json) {
    print(to_json(MigrateDownView{report->from, report->to, report->undone}));
    return Exit::ok;
  }
  for (const std::string& migration : report->undone) {
    print(fmt::format("{} {} undone", common.out.green("✓"), migration));
  }
  print(fmt::format("schema pgflow  version {}", report->to));
  if (!report->undone.empty()) {
    print_hint(
        common, "Its functions are gone; the older program's `pgflow migrate up` brings its own."
    );
  }
  return Exit::ok;
}

Outcome<Exit> migrate_sql(const MigrateArguments& arguments) {
  const int newest = store::newest_version();
  const int from = arguments.from.value_or(0), to = arguments.to.value_or(newest);
  const bool is_down = to < from;
  for (const int version : {from, to}) {
    if (version >= (is_down || version == to ? 1 : 0) && version <= newest) continue;
    return refuse(
        Exit::usage,
        fmt::format("there is no way from version {} to version {}", from, to),
        fmt::format("this program knows the versions 1 to {}; 0 is an empty database", newest),
        "`pgflow migrate status` shows the database's version."
    );
  }
  print(store::standalone_script(from, to));
  return Exit::ok;
}

Outcome<Exit> migrate_validate(const Common& common) {
  Outcome<std::unique_ptr<Database>> database = Database::open(common);
  if (!database) return tl::unexpected(database.error());
  auto report = (*database)->await<store::ValidateReport>([&](auto done) {
    store::Migrator((*database)->connection()).validate(std::move(done));
  });
  if (!report) return tl::unexpected(report.error());
  MigrateValidateView view{
      .valid = report->problems.empty(),
      .state = std::string(name(report->status.state)),
      .pgmq = std::string(name(report->status.pgmq)),
      .version = report->status.version,
      .wanted = report->status.wanted,
      .functions = static_cast<std::int64_t>(report->functions),
      .problems = {},
  };
  auto optional = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  for (const Error& problem : report->problems) {
    view.problems.push_back(
        {problem.kind, problem.message, optional(problem.detail), optional(problem.hint)}
    );
  }
  if (common.output == Output::json) {
    print(to_json(view));
  } else if (view.valid) {
    print(fmt::format(
        "schema pgflow  version {}  valid, {} as shipped",
        view.version,
        counted(view.functions, "function")
    ));
  } else {
    for (const Error& problem : report->problems) {
      print(fmt::format("{} {}", common.out.red("✗"), problem.message));
      if (!problem.detail.empty()) print("  " + indented(problem.detail));
    }
    if (!report->problems.back().hint.empty()) print_hint(common, report->problems.back().hint);
  }
  return view.valid ? Exit::ok : Exit::negative;
}

Outcome<Exit> migrate_status(const Common& common) {
  Outcome<std::unique_ptr<Database>> database = Database::open(common);
  if (!database) return tl::unexpected(database.error());
  Outcome<MigrationsView> view = look(**database);
  if (!view) return tl::unexpected(view.error());
  if (common.output == Output::json) {
    print(to_json(*view));
  } else {
    Table table("", {{"MIGRATION"}, {"APPLIED"}});
    for (const MigrationView& migration : view->migrations) {
      table.add(
          {migration.name,
           migration.applied_at ? time_text(*migration.applied_at)
                                : common.out.yellow(migration.applied ? "yes" : "no")}
      );
    }
    print(table.text());
    print(
        fmt::format("schema pgflow  version {} of {}  {}", view->version, view->wanted, view->state)
    );
    if (view->problem) print_hint(common, *view->problem);
  }
  return view->problem ? Exit::negative : Exit::ok;
}

}  // namespace pgflow::cli
