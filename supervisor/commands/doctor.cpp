// `pgflow doctor`: what is wrong with the database, the config and this host, each with an id that
// docs/doctor.md explains.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/clock.hpp"
#include "pg/dsn.hpp"
#include "settings/load.hpp"
#include "store/migrator.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOk = "ok", kWarn = "warn", kFail = "fail", kSkip = "skip";

// A check that is one query: the things that are wrong, each in words; one that begins with "!" is
// a failure, any other a warning.
struct QueryCheck {
  std::string_view id, name, sound, found, hint, sql;
  bool needs_schema = true;
};

// clang-format off
constexpr QueryCheck kQueries[] = {
    {"PGF107", "rights", "this role may do what a supervisor does", "this role lacks rights",
     "`pgflow sql roles`, docs/roles.md", R"sql(
select '!it may not call pgflow.' || p.proname
from pg_proc p
where p.pronamespace = 'pgflow'::regnamespace
  and p.proname in ('ensure_flow_compiled', 'start_flow', 'release_worker', 'requeue_stalled_tasks', 'supervisor_heartbeat')
  and not has_function_privilege(p.oid, 'execute')
order by 1)sql"},
    {"PGF110", "autovacuum", "autovacuum is on", "dead rows may pile up",
     "Tables of tasks and queues change with every task: leave autovacuum on.", R"sql(
select '!autovacuum is off for the whole server' where current_setting('autovacuum') = 'off'
union all
select format('autovacuum is off for %s', c.oid::regclass)
from pg_class c
where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind = 'r'
  and 'autovacuum_enabled=false' = any (c.reloptions)
union all
select format('%s has %s dead rows beside %s', s.relid::regclass, s.n_dead_tup, s.n_live_tup)
from pg_stat_user_tables s
where s.schemaname in ('pgflow', 'pgmq') and s.n_dead_tup > 100000 and s.n_dead_tup > 2 * s.n_live_tup)sql"},
    {"PGF111", "idle transactions", "no session sleeps inside a transaction",
     "sessions sleep inside a transaction",
     "They hold locks, and keep vacuum from its work: end them, or set idle_in_transaction_session_timeout.", R"sql(
select format('pid %s (%s) for %s', a.pid, coalesce(nullif(a.application_name, ''), a.usename), date_trunc('second', clock_timestamp() - a.state_change))
from pg_stat_activity a
where a.datname = current_database() and a.state like 'idle in transaction%'
  and a.state_change < clock_timestamp() - interval '1 minute'
order by a.state_change)sql", false},
    {"PGF112", "coverage", "every step has a live worker", "steps without a live worker",
     "`pgflow coverage` and `pgflow status` say why: `pgflow up` starts workers, `pgflow unfence` lifts a fence.", R"sql(
select format('%s%s/%s%s%s', case when t.queued > 0 and f.reason is null then '!' end, c.flow_slug, c.step_slug,
  case when t.queued > 0 then format(': %s task(s) wait', t.queued) end, ' (fenced: ' || f.reason || ')')
from pgflow.route_coverage() c
cross join lateral (
  select min(s.reason) as reason from pgflow.fenced_functions n join pgflow.fences s using (fence_id)
  where n.function_name = c.flow_slug || '/' || c.step_slug) f
cross join lateral (
  select count(*) as queued from pgflow.step_tasks t
  where t.flow_slug = c.flow_slug and t.step_slug = c.step_slug and t.status = 'queued') t
where not c.covered
order by t.queued = 0, c.flow_slug, c.step_index)sql"},
    {"PGF113", "stalled tasks", "no task has stalled", "tasks that no worker gets",
     "`pgflow task requeue --all` gives them to the workers again, `pgflow run cancel` ends their runs.", R"sql(
select format('!%s/%s[%s] of run %s', t.flow_slug, t.step_slug, t.task_index, t.run_id) from pgflow.stalled_tasks() t)sql"},
    {"PGF114", "queues", "queues and flows belong together", "queues and flows do not fit",
     "A dropped queue: select pgflow.restore_queues('<flow>'). A queue of no flow: pgmq.drop_queue, when nobody needs it.", R"sql(
select distinct format('!flow %s lacks its queue %s', s.flow_slug, s.queue_name)
from pgflow.steps s
where not exists (select from pgmq.list_queues() q where q.queue_name = s.queue_name)
union all
select format('queue %s belongs to no flow', q.queue_name)
from pgmq.list_queues() q
where q.queue_name ~ '^[a-z0-9_]*[a-z0-9]__[a-z0-9_]+$' and not exists (select from pgflow.steps s where s.queue_name = q.queue_name)
order by 1)sql"},
    {"PGF115", "disabled functions", "no worker function is disabled", "worker functions are disabled",
     "Nobody restarts their workers. To enable one: update pgflow.worker_functions set enabled = true where function_name = '…'.", R"sql(
select f.function_name from pgflow.worker_functions f
where not f.enabled and not exists (select from pgflow.fenced_functions s where s.function_name = f.function_name)
order by 1)sql"},
    {"PGF116", "fences", "no fence stands", "fences stand",
     "`pgflow fence list`; the holder of the token lifts one with `pgflow unfence`.", R"sql(
select format('%s by %s since %s: %s', f.fence_id, f.owner, date_trunc('second', f.created_at), f.reason)
from pgflow.fences f where f.lifted_at is null order by f.created_at)sql"},
    {"PGF117", "silent workers", "no worker is silent", "workers that are silent and not stopped",
     "Their host or their network is gone; tasks in their hands come back after time-out and 30 s.", R"sql(
select format('%s of %s on %s, for %s', w.worker_id, w.function_name, coalesce(w.host_id, 'an unknown host'),
  date_trunc('second', clock_timestamp() - w.last_heartbeat_at))
from pgflow.workers w
where w.stopped_at is null and w.last_heartbeat_at between clock_timestamp() - interval '1 day' and clock_timestamp() - interval '6 seconds'
order by w.last_heartbeat_at)sql"},
    {"PGF123", "integrity", "the newest runs keep every invariant", "rows that the engine would never write",
     "Somebody wrote past the functions, or a backup is not of one moment: `pgflow run cancel` ends such runs.", R"sql(
select format('!%s, run %s: %s', concat_ws('/', i.flow_slug, i.step_slug), i.run_id, i.problem)
from pgflow.check_integrity() i
where i.problem not like '%is not there.')sql"},  // a lost message can be sent again: PGF113
};
// clang-format on

class Doctor {
 public:
  explicit Doctor(const Common& common) : common_(common) {
    if (!common_.config && fs::exists("pgflow.json")) common_.config = "pgflow.json";
  }

  DoctorView examine() {
    host();
    config();
    database();
    DoctorView view;
    view.healthy =
        std::ranges::none_of(checks_, [](const auto& check) { return check.state == kFail; });
    std::ranges::stable_sort(checks_, {}, &DoctorCheck::id);
    view.checks = std::move(checks_);
    return view;
  }

 private:
  void add(
      std::string_view id,
      std::string_view name,
      std::string_view state,
      std::string text,
      std::string detail = {},
      std::string hint = {}
  ) {
    DoctorCheck check{
        std::string(id), std::string(name), std::string(state), std::move(text), {}, {}
    };
    if (!detail.empty()) check.detail = std::move(detail);
    if (!hint.empty()) check.hint = std::move(hint);
    checks_.push_back(std::move(check));
  }
  void add(std::string_view id, std::string_view name, std::string_view state, const Error& error) {
    add(id, name, state, error.message, error.detail, error.hint);
  }

  // --- this host

  void host() {
    constexpr rlim_t kTooFew = 256, kFew = 1'024;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    add("PGF121",
        "descriptors",
        files.rlim_cur < kTooFew ? kFail
        : files.rlim_cur < kFew  ? kWarn
                                 : kOk,
        files.rlim_cur == RLIM_INFINITY ? "as many open files as it likes"
                                        : fmt::format("{} open files at most", files.rlim_cur),
        "",
        files.rlim_cur < kFew ? "A supervisor needs about 5 a worker: ulimit -n 4096, or "
                                "LimitNOFILE= in its unit."
                              : "");
  }

  // --- the config

  void config() {
    if (!common_.config) {
      add("PGF118",
          "config",
          kSkip,
          "no config file was named and ./pgflow.json is not there",
          "",
          "-c FILE");
      return;
    }
    auto loaded = settings::load(*common_.config, {.database_url = common_.database_url});
    std::vector<settings::Problem> wrong, programs;
    if (!loaded) {
      for (const settings::Problem& problem : loaded.error().problems) {
        if (problem.warning || (problem.path == "database.url" && problem.reason == "is missing"))
          continue;
        (problem.path.find("worker.command") != std::string::npos ? programs : wrong)
            .push_back(problem);
      }
    }
    problems("PGF118", "config", common_.config->string() + " is valid", wrong);
    problems("PGF119", "programs", "the worker programs are there", programs);
    // Without an address all but the database can be looked at.
    if (!loaded && wrong.empty() && programs.empty())
      loaded = settings::load(*common_.config, {.database_url = "postgresql:///"});
    if (!loaded) return;
    settings_ = std::move(*loaded);
    state_dir(settings_->supervisor.state_dir);
    processes();
  }

  // The kernel counts threads. Root is not limited, nor are its workers.
  void processes() {
    rlimit most{};
    ::getrlimit(RLIMIT_NPROC, &most);
    rlim_t workers = 0, threads = 0;
    for (const settings::FlowSettings& flow : settings_->flows) {
      for (const settings::StepSettings& step : flow.steps) {
        const auto count = static_cast<rlim_t>(step.processes);
        workers += count;
        threads += count * static_cast<rlim_t>(1 + step.max_concurrent);
      }
    }
    const bool is_limited = ::geteuid() != 0 && most.rlim_cur != RLIM_INFINITY;
    const auto state = !is_limited || most.rlim_cur > threads ? kOk
                       : most.rlim_cur > workers              ? kWarn
                                                              : kFail;
    add("PGF122",
        "processes",
        state,
        is_limited ? fmt::format(
                         "{} processes and threads at most; the config's workers have up to {}",
                         most.rlim_cur,
                         threads
                     )
                   : "as many processes as it likes",
        "",
        state == kOk ? "" : "ulimit -u, or LimitNPROC= in the supervisor's unit.");
  }

  void problems(
      std::string_view id,
      std::string_view name,
      std::string sound,
      const std::vector<settings::Problem>& found
  ) {
    if (found.empty()) return add(id, name, kOk, std::move(sound));
    std::vector<std::string> texts;
    for (const auto& problem : found) texts.push_back(problem.path + " " + problem.reason);
    add(id,
        name,
        kFail,
        texts.front(),
        texts.size() > 1 ? fmt::format("{} more", texts.size() - 1) : "",
        found.front().hint.empty() ? "`pgflow config check` names every problem."
                                   : found.front().hint);
  }

  void state_dir(const fs::path& folder) {
    constexpr std::uintmax_t kLittle = 100U << 20U;
    // The first that exists: the rest is made at the start.
    fs::path at = fs::absolute(folder);
    while (!fs::exists(at) && at.has_relative_path()) at = at.parent_path();
    // Only an attempt tells: root may write anywhere, but not in /proc.
    std::string probe = (at / ".pgflow-doctor.XXXXXX").string();
    if (::mkdtemp(probe.data()) == nullptr) {
      return add(
          "PGF120",
          "state folder",
          kFail,
          fmt::format("{} cannot be written to", at.string()),
          "Locks and the journal of releases lie in supervisor.state_dir.",
          "Give it to the user that runs `pgflow up`."
      );
    }
    std::error_code error;
    fs::remove(probe, error);
    const auto space = fs::space(at, error);
    if (!error && space.available < kLittle) {
      return add(
          "PGF120",
          "state folder",
          kWarn,
          fmt::format("{} MiB are left for {}", space.available >> 20U, folder.string()),
          "",
          "A journal of releases that cannot be written costs dead workers' tasks their time-out."
      );
    }
    add("PGF120", "state folder", kOk, folder.string() + " can be written to");
  }

  // --- the database

  void database() {
    auto opened = Database::open(common_);
    if (!opened) {
      const Failure& failed = opened.error();
      return add(
          "PGF101", "database", kFail, failed.error.message, failed.error.detail, failed.error.hint
      );
    }
    database_ = std::move(*opened);
    add("PGF101", "database", kOk, database_->connection().dsn().describe());
    version();
    writable();
    direct();
    connections();
    clock();
    const bool current = schema();
    for (const QueryCheck& check : kQueries) query(check, current);
  }

  std::optional<std::string> ask(std::string_view id, std::string_view name, std::string_view sql) {
    auto answer = database_->value(sql);
    if (answer) return answer->value_or("");
    add(id, name, kSkip, answer.error().error);
    return std::nullopt;
  }

  void version() {
    constexpr int kOldest = 150'000, kUnknown = 190'000;
    const int number = database_->connection().server_version();
    const std::string text = fmt::format("PostgreSQL {}.{}", number / 10'000, number % 10'000);
    if (number < kOldest) {
      return add(
          "PGF102", "server version", kFail, text, "", "pgflow needs PostgreSQL 15 or newer."
      );
    }
    add("PGF102",
        "server version",
        number < kUnknown ? kOk : kWarn,
        text,
        number < kUnknown ? "" : "Newer than any that pgflow is tested with.");
  }

  void writable() {
    const auto answer =
        ask("PGF103", "writable", R"sql(
select case when pg_is_in_recovery() then 'standby' when current_setting('transaction_read_only') = 'on' then 'read-only' else '' end)sql"
        );
    if (!answer) return;
    if (answer->empty()) return add("PGF103", "writable", kOk, "a primary that can be written to");
    if (*answer == "standby") {
      return add(
          "PGF103",
          "writable",
          kFail,
          "this server is a read-only standby",
          "",
          "Connect to the primary: target_session_attrs=read-write with all hosts in the URL."
      );
    }
    add("PGF103",
        "writable",
        kFail,
        "every transaction here is read-only",
        "",
        "alter role … or alter database … reset default_transaction_read_only");
  }

  void direct() {
    const auto pid = ask("PGF104", "connection", "select pg_backend_pid()");
    if (!pid) return;
    if (*pid == std::to_string(database_->connection().backend_pid())) {
      return add("PGF104", "connection", kOk, "direct");
    }
    add("PGF104",
        "connection",
        kWarn,
        "a connection pooler in transaction mode stands between",
        "Notifications do not pass it: starts, fences and wake-ups are seen when it is next asked, "
        "within 1 to 2 s.",
        "Give workers and supervisor a direct address when that matters.");
  }

  void connections() {
    const auto free = ask("PGF108", "connections", R"sql(
select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
  - (select count(*) from pg_stat_activity where backend_type = 'client backend'))sql");
    const auto most =
        ask("PGF108", "connections", R"sql(
select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int)sql"
        );
    if (!free || !most) return;
    int wanted = 0;
    if (settings_) {
      int processes = 0;
      for (const auto& flow : settings_->flows) {
        for (const auto& step : flow.steps) processes += step.processes;
      }
      wanted = settings::connections_for(processes);
    }
    constexpr int kFewest = 5;
    const std::string text = fmt::format("{} of {} are free", *free, *most);
    if (std::stoi(*most) < wanted) {
      return add(
          "PGF108",
          "connections",
          kFail,
          fmt::format("{}, the config's workers need {}", text, wanted),
          "",
          "Raise max_connections, or lower processes."
      );
    }
    const bool few = std::stoi(*free) < kFewest;
    add("PGF108",
        "connections",
        few ? kWarn : kOk,
        text,
        "",
        few ? "Raise max_connections, or look who holds them: pg_stat_activity." : "");
  }

  void clock() {
    const auto before = WallClock::now();
    const auto theirs =
        ask("PGF109", "clock", "select (extract(epoch from clock_timestamp()) * 1000)::bigint");
    if (!theirs) return;
    const auto middle = before + (WallClock::now() - before) / 2;
    const auto ours =
        std::chrono::duration_cast<std::chrono::milliseconds>(middle.time_since_epoch()).count();
    const double apart = std::abs(static_cast<double>(ours - std::stoll(*theirs))) / 1000.0;
    constexpr double kMuch = 2;
    add("PGF109",
        "clock",
        apart > kMuch ? kWarn : kOk,
        fmt::format("{:.1f} s apart from the server's", apart),
        apart > kMuch ? "pgflow counts by the server's clock; times in logs will not fit." : "",
        apart > kMuch ? "Let both hosts run chrony or systemd-timesyncd." : "");
  }

  bool schema() {
    auto status = database_->await<store::SchemaStatus>([&](auto done) {
      store::Migrator(database_->connection()).status(std::move(done));
    });
    if (!status) {
      add("PGF105", "schema", kFail, status.error().error);
      return false;
    }
    if (const auto problem = store::schema_problem(*status)) {
      add("PGF105", "schema", kFail, *problem);
      return false;
    }
    add("PGF105", "schema", kOk, fmt::format("version {}", status->version));
    add("PGF106", "pgmq", kOk, std::string(store::name(status->pgmq)));
    return true;
  }

  void query(const QueryCheck& check, bool schema_is_current) {
    if (check.needs_schema && !schema_is_current) {
      return add(check.id, check.name, kSkip, "not asked: the schema does not fit");
    }
    auto found = database_->column(check.sql);
    if (!found) return add(check.id, check.name, kSkip, found.error().error);
    if (found->empty()) return add(check.id, check.name, kOk, std::string(check.sound));
    std::string_view state = kWarn;
    for (std::string& text : *found) {
      if (!text.starts_with('!')) continue;
      state = kFail;
      text.erase(0, 1);
    }
    constexpr std::size_t kShown = 5;
    const std::size_t more = found->size() > kShown ? found->size() - kShown : 0;
    found->resize(found->size() - more);
    add(check.id,
        check.name,
        state,
        std::string(check.found),
        fmt::format(
            "{}{}", fmt::join(*found, "; "), more > 0 ? fmt::format("; and {} more", more) : ""
        ),
        std::string(check.hint));
  }

  Common common_;
  std::optional<settings::Settings> settings_;
  std::unique_ptr<Database> database_;
  std::vector<DoctorCheck> checks_;
};

}  // namespace

Outcome<Exit> doctor(const Common& common) {
  const DoctorView view = Doctor(common).examine();
  const Exit exit = view.healthy ? Exit::ok : Exit::negative;
  if (common.output == Output::json) {
    print(to_json(view));
    return exit;
  }
  for (const DoctorCheck& check : view.checks) {
    const Style& style = common.out;
    const std::string mark = check.state == kOk     ? style.green("✓")
                             : check.state == kWarn ? style.yellow("!")
                             : check.state == kFail ? style.red("✗")
                                                    : style.dim("–");
    print(fmt::format("{} {}  {}: {}", mark, check.id, check.name, check.text));
    if (check.state == kOk) continue;
    if (check.detail) print("    " + *check.detail);
    if (check.hint) print("    " + style.dim("hint: ") + *check.hint);
  }
  return exit;
}

}  // namespace pgflow::cli
