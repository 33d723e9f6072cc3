// Texts that people and programs rely on, kept as files: `--help` of every verb and the JSON
// Schemas of what the read verbs print. PGFLOW_GOLDEN=write writes them anew; the diff is the
// review.
#include <cstdlib>
#include <fstream>
#include <map>

#include "cli_support.hpp"
#include "json/writer.hpp"
#include "supervisor/views.hpp"

using namespace pgflow;
using namespace pgflow::cli;
using namespace pgflow::test;

namespace {

void check_golden(const std::string& path, const std::string& text) {
  const char* wanted = std::getenv("PGFLOW_GOLDEN");
  const std::string file = std::string(PGFLOW_SOURCE_DIR) + "/" + path;
  if (wanted != nullptr && std::string(wanted) == "write") std::ofstream(file) << text;
  INFO(path << " differs; `./dev golden` rewrites it");
  CHECK(read_file(file) == text);
}

std::string flat(const std::vector<std::string>& words) {
  std::string name = "pgflow";
  for (const std::string& word : words) name += "_" + word;
  return name;
}

}  // namespace

TEST_CASE("the --help of each verb is the reviewed one", "[cli][golden]") {
  const std::vector<std::vector<std::string>> verbs = {
      {},
      {"init"},
      {"dev"},
      {"up"},
      {"scale"},
      {"pause"},
      {"resume"},
      {"start"},
      {"drain"},
      {"restart"},
      {"stop"},
      {"healthcheck"},
      {"metrics"},
      {"top"},
      {"status"},
      {"coverage"},
      {"run"},
      {"run", "start"},
      {"run", "show"},
      {"run", "wait"},
      {"run", "list"},
      {"run", "rerun"},
      {"run", "cancel"},
      {"run", "tail"},
      {"task"},
      {"task", "list"},
      {"task", "requeue"},
      {"queue"},
      {"queue", "list"},
      {"queue", "show"},
      {"queue", "peek"},
      {"worker"},
      {"worker", "list"},
      {"worker", "show"},
      {"fence"},
      {"fence", "list"},
      {"unfence"},
      {"migrate"},
      {"migrate", "up"},
      {"migrate", "down"},
      {"migrate", "status"},
      {"migrate", "sql"},
      {"migrate", "validate"},
      {"db"},
      {"db", "url"},
      {"sql"},
      {"config"},
      {"config", "check"},
      {"config", "show"},
      {"config", "schema"},
      {"doctor"},
      {"completion"},
      {"man"},
      {"version"},
  };
  for (std::vector<std::string> verb : verbs) {
    const std::string name = flat(verb);
    verb.emplace_back("--help");
    const Ended help = run_pgflow(verb);
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    check_golden("tests/golden/help/" + name + ".txt", help.out);
  }
}

TEST_CASE("the JSON Schema of each read verb is the published one", "[cli][golden]") {
  const std::map<std::string, std::string> schemas = {
      {"status", json_schema<StatusView>()},
      {"order", json_schema<supervisor::OrderDocument>()},
      {"healthcheck", json_schema<HealthView>()},
      {"logs", json_schema<supervisor::LogLineDocument>()},
      {"coverage", json_schema<CoverageView>()},
      {"run-show", json_schema<RunView>()},
      {"run-list", json_schema<RunListView>()},
      {"run-start", json_schema<RunStatesView>()},
      {"run-tail", json_schema<RunFact>()},
      {"task-list", json_schema<TaskListView>()},
      {"task-requeue", json_schema<TaskRequeueView>()},
      {"queue-list", json_schema<QueueListView>()},
      {"queue-peek", json_schema<QueuePeekView>()},
      {"worker-list", json_schema<WorkerListView>()},
      {"worker-show", json_schema<WorkerListed>()},
      {"doctor", json_schema<DoctorView>()},
      {"config-show", json_schema<ConfigShowView>()},
      {"fence", json_schema<FenceView>()},
      {"fence-list", json_schema<FenceListView>()},
      {"unfence", json_schema<UnfenceView>()},
      {"migrate-status", json_schema<MigrationsView>()},
      {"migrate-up", json_schema<MigrateUpView>()},
      {"migrate-down", json_schema<MigrateDownView>()},
      {"migrate-validate", json_schema<MigrateValidateView>()},
      {"db-url", json_schema<DatabaseUrlView>()},
      {"config-check", json_schema<ConfigCheckView>()},
      {"version", json_schema<VersionView>()},
  };
  for (const auto& [verb, schema] : schemas) {
    json::Writer indented(json::Writer::Style::indented);
    indented.value(*json::parse(schema));
    check_golden("docs/schemas/" + verb + ".schema.json", indented.take() + "\n");
  }
}
