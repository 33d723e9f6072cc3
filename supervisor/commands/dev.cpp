// `pgflow dev`: a project's own PostgreSQL, its schema and its supervisor, in the foreground.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "base/clock.hpp"
#include "local_pg/background_server.hpp"
#include "log/log.hpp"
#include "settings/load.hpp"
#include "store/migrator.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/instance_lock.hpp"
#include "supervisor/project.hpp"
#include "supervisor/supervisor.hpp"

namespace pgflow::cli {
namespace {

namespace fs = std::filesystem;
using supervisor::Snapshot;

// Holds back the signals that end us, until somebody takes them: an end in the middle of the start
// must not leave a temporary folder behind.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&set_);
    for (int number : {SIGINT, SIGTERM, SIGQUIT}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  ~HeldSignals() { let_go(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void let_go() { pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }
  // Takes one that comes within this time; 0: none came.
  int take(std::chrono::milliseconds limit) {
    const timespec time{.tv_sec = 0, .tv_nsec = limit.count() * 1'000'000};
    return std::max(0, sigtimedwait(&set_, nullptr, &time));
  }

 private:
  sigset_t set_{};
};

// The lines of the screen, each printed when it has become a fact.
class Screen {
 public:
  Screen(const Common& common, const settings::Settings& settings)
      : style_(common.out), settings_(settings) {
    for (const settings::FlowSettings& flow : settings.flows) {
      width_ = std::max(width_, display_width(flow_title(flow.slug)));
    }
  }

  // What the command that it suggests needs beside this folder.
  void reached_with(std::string option) { database_option_ = std::move(option); }

  void title(const fs::path& config) const {
    say(fmt::format(
        "{} {}  project: {}  {}",
        style_.bold("pgflow"),
        PGFLOW_VERSION,
        config.string(),
        style_.dim("(development mode, not for production)")
    ));
  }

  void database(const local_pg::Started& started, const fs::path& root) const {
    const std::string name = "PostgreSQL " + started.version;
    fact(
        name,
        shown(root / "data"),
        fmt::format(
            "socket {}   {}",
            started.endpoint.socket_dir.string(),
            started.attached ? "shared with another pgflow dev"
                             : fmt::format("{} ms", started.took.count())
        )
    );
  }

  void schema(const store::UpReport& report) const {
    fact(
        "schema pgflow",
        counted(report.to, "migration"),
        report.applied.empty() ? "up to date" : fmt::format("{} applied", report.applied.size())
    );
  }

  // On the supervisor's thread, which is ours.
  void show(const Snapshot& snapshot) {
    if (snapshot.phase == supervisor::Phase::stopping && !stopping_) {
      stopping_ = true;
      say("  stopping: workers finish what they have in hand");
    }
    if (snapshot.phase != supervisor::Phase::running) return;
    for (const supervisor::FlowView& flow : snapshot.flows) {
      if (flow.compiled.empty() || !flows_.insert(flow.slug).second) continue;
      fact(
          "flow " + flow.slug,
          flow.compiled,
          fmt::format(
              "mode={}  {}{}",
              flow.queue_mode,
              counted(flow.queues, "queue"),
              flow.compiled == "recompiled" ? "  its old runs were deleted" : ""
          )
      );
    }
    for (const supervisor::PoolView& pool : snapshot.pools) {
      if (pool.state != supervisor::PoolState::failed) continue;
      if (!failures_.insert(pool.flow_slug + "/" + pool.step_slug).second) continue;
      say(fmt::format(
          "  {} {}/{}  {}", style_.red("✗"), pool.flow_slug, pool.step_slug, pool.reason
      ));
    }
    if (!complete_ && std::ranges::all_of(snapshot.pools, is_full)) complete(snapshot);
  }

 private:
  static std::string flow_title(const std::string& slug) { return "flow " + slug; }
  static bool is_ready(const supervisor::SlotView& slot) {
    return slot.state == supervisor::SlotState::ready;
  }
  static bool is_full(const supervisor::PoolView& pool) {
    return std::ranges::all_of(pool.slots, is_ready);
  }

  void complete(const Snapshot& snapshot) {
    complete_ = true;
    std::string pools;
    std::ptrdiff_t covered = 0;
    for (const supervisor::PoolView& pool : snapshot.pools) {
      const std::ptrdiff_t ready = std::ranges::count_if(pool.slots, is_ready);
      if (ready > 0) ++covered;
      pools += fmt::format(
          "{}{} ×{}",
          pools.empty() ? "" : "  ",
          pool.step_slug.empty() ? pool.flow_slug : pool.step_slug,
          ready * pool.max_concurrent
      );
    }
    fact("workers", pools, fmt::format("{}/{} steps covered", covered, snapshot.pools.size()));
    if (!snapshot.flows.empty()) {
      say(fmt::format(
          "  Try        pgflow run start {} --input '{{…}}' --wait{}",
          snapshot.flows.front().slug,
          database_option_
      ));
    }
    say(fmt::format(
        "  Stop       Ctrl-C (drains up to {}; again to force)",
        human_duration(settings_.supervisor.shutdown_deadline)
    ));
  }

  // From here when it lies below here.
  static std::string shown(const fs::path& path) {
    const fs::path relative = path.lexically_proximate(fs::current_path());
    return relative.string().starts_with("..") ? path.string() : relative.string();
  }

  void fact(const std::string& what, const std::string& state, const std::string& more) const {
    auto wide = [](const std::string& text, std::size_t width) {
      return text + std::string(width - std::min(width, display_width(text)), ' ');
    };
    say(fmt::format("  {} {} {}   {}", style_.green("✓"), wide(what, width_), wide(state, 16), more)
    );
  }

  static void say(const std::string& line) {
    print(line);
    std::fflush(stdout);
  }

  const Style& style_;
  const settings::Settings& settings_;
  std::size_t width_ = 18;  // of the first column
  std::set<std::string> flows_;
  std::set<std::string> failures_;
  std::string database_option_;
  bool complete_ = false;
  bool stopping_ = false;
};

Outcome<fs::path> temporary_root() {
  std::string path = (fs::temp_directory_path() / "pgflow-dev.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    return refuse(
        Exit::os_error,
        "cannot make a temporary folder",
        path,
        "set TMPDIR to a folder that can be written"
    );
  }
  return fs::path(path);
}

std::optional<fs::path> wanted_binaries() {
  const char* folder = std::getenv("PGFLOW_PG_BIN");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return fs::path(folder);
}

// A server and its initdb say much when all is well.
void log_server_line(std::string_view line) {
  const bool bad = std::ranges::any_of(
      std::array{"WARNING:", "ERROR:", "FATAL:", "PANIC:", "error:"},
      [line](std::string_view mark) { return line.find(mark) != std::string_view::npos; }
  );
  if (bad) {
    log::warn("postgres", {{"line", line}});
  } else {
    log::debug("postgres", {{"line", line}});
  }
}

Outcome<store::UpReport> migrate(const local_pg::Endpoint& endpoint) {
  Outcome<std::unique_ptr<Database>> database =
      Database::connect({endpoint.uri(), "the project's own database"});
  if (!database) return tl::unexpected(database.error());
  return (*database)->await<store::UpReport>([&](auto done) {
    store::Migrator((*database)->connection()).up(std::move(done));
  });
}

}  // namespace

Outcome<Exit> dev(const Common& common, const DevArguments& arguments) {
  const fs::path config = common.config.value_or("pgflow.json");
  // The whole file is checked before anything is started; the URL is known only afterwards.
  auto settings = settings::load(config, {.database_url = "postgresql:///pgflow"});
  if (!settings) return tl::unexpected(config_failure(settings.error()));

  HeldSignals signals;
  fs::path root = data_root(project_of(config));
  if (arguments.ephemeral) {
    Outcome<fs::path> temporary = temporary_root();
    if (!temporary) return tl::unexpected(temporary.error());
    root = *temporary;
    settings->supervisor.state_dir = root / "supervisor";
  }
  // The screen says what a person wants to know; the log, the workers' too, adds what went wrong.
  setenv("PGFLOW_LOG_LEVEL", "warn", 0);
  open_log(settings->supervisor.log);

  // First of all: a second one in this folder shows nothing.
  Result<UniqueFd> lock = supervisor::lock_state_dir(settings->supervisor.state_dir);
  if (!lock) return tl::unexpected(failure(lock.error()));
  supervisor::SupervisorOptions options;
  options.lock = std::move(*lock);

  Screen screen(common, *settings);
  screen.title(config);
  local_pg::BackgroundServer server({
      .root = root,
      .ephemeral = arguments.ephemeral,
      .binaries = wanted_binaries(),
      .on_log = log_server_line,
  });
  while (server.started().wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (const int number = signals.take(std::chrono::milliseconds(20)))
      return static_cast<Exit>(128 + number);
  }
  Result<local_pg::Started> started = server.started().get();
  if (!started) return tl::unexpected(failure(started.error()));
  screen.database(*started, root);

  Outcome<store::UpReport> report = migrate(started->endpoint);
  if (!report) return tl::unexpected(report.error());
  screen.schema(*report);

  settings->database.url = started->endpoint.uri();
  // The other verbs may find another one: the environment's, or none when this one is temporary.
  if (const auto found = find_database(common); !found || found->url != settings->database.url) {
    screen.reached_with(fmt::format(" -d '{}'", settings->database.url));
  }
  settings->database.url_source = "the project's own database";
  options.observer = [&](const Snapshot& snapshot) {
    // From here on the supervisor handles them, those that came meanwhile included.
    signals.let_go();
    screen.show(snapshot);
  };
  return static_cast<Exit>(supervisor::run_supervisor(*settings, std::move(options)));
}

}  // namespace pgflow::cli
