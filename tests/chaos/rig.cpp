#include "chaos/rig.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace pgflow::test {
namespace {

// One run of a handler.
struct Execution {
  std::string step, run;
  int attempt = 0;
  int pid = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;  // 0: it did not come to its end
};

std::vector<Execution> read_ledger(const std::string& file) {
  std::vector<Execution> all;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> open;
  std::ifstream lines(file);
  Nanoseconds time = 0;
  std::string what;
  for (Execution one; lines >> time >> what >> one.step >> one.run >> one.attempt >> one.pid;) {
    const std::tuple key(one.step, one.run, one.pid);
    if (what == "start") {
      one.start = time;
      open[key] = all.size();
      all.push_back(one);
    } else {
      REQUIRE(open.contains(key));
      all[open[key]].end = time;
    }
  }
  return all;
}

}  // namespace

Nanoseconds monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Not so a zombie: a container's first process may never reap it.
bool is_alive(int pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) != "Z";
}

int count_descriptors(int pid) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

int rounds(int in_short) {
  const char* wanted = std::getenv("CHAOS_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : in_short;
}

void print_percentiles(const std::string& name, std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  std::printf(
      "%s: n=%zu p50=%.0f ms p99=%.0f ms worst=%.0f ms\n",
      name.c_str(),
      values.size(),
      at(0.5),
      at(0.99),
      values.back()
  );
}

Rig::Rig(const Server& server, std::string classify, std::string deliver)
    : database("pgflow_template", server) {
  const char* wanted = std::getenv("CHAOS_SEED");
  const auto seed = wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10))
                                      : std::random_device{}();
  std::printf("CHAOS_SEED=%u\n", seed);
  dice_.seed(seed);
  // The tests' server answers before it has written; here it dies, and what was answered must
  // stand.
  database.rows(
      "do $$ begin execute format('alter database %I set synchronous_commit = on', "
      "current_database()); end $$"
  );
  write_config(classify, deliver);
}

Rig::~Rig() {
  if (const char* log = std::getenv("CHAOS_LOG"); log != nullptr && supervisor_) {
    std::ofstream(log) << supervisor_->err();
  }
  supervisor_.reset();
  for (const auto& execution : read_ledger(path("ledger"))) {
    if (is_alive(execution.pid)) kill(execution.pid, SIGKILL);
  }
}

void Rig::write_config(const std::string& classify, const std::string& deliver) const {
  std::ofstream(path("pgflow.json"))
      << R"({"version": 1, "supervisor": {"state_dir": "state", "kill_margin": "5s",)"
      << R"( "max_spawns_per_second": 100, "max_parallel_starts": 8},)"
      << R"( "defaults": {"watchdog": "3s", "restart": {"base": "10ms", "max": "50ms",)"
      << R"( "budget": {"crashes": 100000, "per": "1s"}}},)"
      << R"( "flows": [{"slug": "chaosV1", "worker": {"command": [")" PGFLOW_BIN_DIR
      << R"(/chaos_worker"]}, "steps": {"classify": )" << classify << R"(, "deliver": )" << deliver
      << "}}]}";
}

Command Rig::command(const std::vector<std::pair<std::string, std::string>>& environment) const {
  Command command{
      .arguments = {PGFLOW_BIN_DIR "/pgflow", "up", "-c", path("pgflow.json")},
      .environment = {{"DATABASE_URL", database.url()}, {"CHAOS_LEDGER", path("ledger")}}
  };
  command.environment.insert(command.environment.end(), environment.begin(), environment.end());
  return command;
}

void Rig::start_supervisor(const std::vector<std::pair<std::string, std::string>>& environment) {
  supervisor_.emplace(command(environment));
}

void Rig::kill_supervisor() {
  supervisor_->signal(SIGKILL);
  supervisor_->wait(10s);
}

std::unique_ptr<Process> Rig::rival() const {
  return std::make_unique<Process>(command());
}

std::string Rig::pgflow(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), PGFLOW_BIN_DIR "/pgflow");
  arguments.insert(arguments.end(), {"-c", path("pgflow.json")});
  Process process({arguments, {{"DATABASE_URL", database.url()}}});
  const auto code = process.wait(60s);
  INFO(process.err());
  REQUIRE(code == 0);
  return process.out();
}

void Rig::give_runs(int count) {
  database.rows(
      "select pgflow.start_flow('chaosV1', jsonb_build_object('first_ms', 5 + (random() * "
      "60)::int, "
      "'second_ms', (random() * 8)::int)) from generate_series(1, " +
      std::to_string(count) + ")"
  );
}

void Rig::give_burning_runs(int count, int milliseconds) {
  database.rows(
      "select pgflow.start_flow('chaosV1', '{\"first_ms\": -" + std::to_string(milliseconds) +
      ", \"second_ms\": 1}') from generate_series(1, " + std::to_string(count) + ")"
  );
}

std::vector<Worker> Rig::workers() const {
  std::vector<Worker> all;
  for (const auto& row : database.rows(
           "select pid, worker_id, function_name from pgflow.workers where stopped_at is null"
       )) {
    Worker worker{std::stoi(row[0]), row[1], row[2].substr(row[2].find('/') + 1)};
    if (is_alive(worker.pid)) all.push_back(std::move(worker));
  }
  return all;
}

Worker Rig::some_worker() {
  const auto all = workers();
  REQUIRE_FALSE(all.empty());
  return all[static_cast<std::size_t>(random(static_cast<int>(all.size())))];
}

void Rig::wait_workers(std::size_t count) const {
  eventually(std::to_string(count) + " workers", 60s, [&] { return workers().size() == count; });
}

void Rig::kill_worker(const Worker& worker) {
  kill(worker.pid, SIGKILL);
  note_death(worker.pid);
}

void Rig::note_deaths() {
  for (const Execution& execution : read_ledger(path("ledger"))) {
    if (!is_alive(execution.pid)) deaths_.try_emplace(execution.pid, monotonic_now());
  }
}

void Rig::finish_and_judge(std::chrono::milliseconds limit) {
  INFO(supervisor_->err());
  eventually("every run is completed", limit, [&] {
    return database.value("select count(*) from pgflow.runs where status <> 'completed'") == "0";
  });
  CHECK(
      database.value(
          "select count(*) from pgflow.step_tasks where status <> 'completed' or attempts_count <> "
          "1 or requeued_count <> 0 or crash_count <> 0"
      ) == "0"
  );
  for (const char* queue : {"classify", "deliver"}) {
    CHECK(database.value("select count(*) from pgmq.q_chaosv1__" + std::string(queue)) == "0");
  }
  judge_ledger();
}

void Rig::judge_ledger() const {
  auto all = read_ledger(path("ledger"));
  std::ranges::sort(all, {}, &Execution::start);
  std::map<std::string, const Execution*> last;  // by task, and by exclusive step
  std::set<std::string> completed;
  for (const Execution& execution : all) {
    const std::string task = execution.step + " " + execution.run;
    CAPTURE(task, execution.pid, execution.start);
    CHECK(execution.attempt == 1);
    for (const std::string& key : {task, execution.step}) {
      if (key == "classify") continue;
      const Execution*& before = last[key];
      if (before != nullptr) {
        const auto death = deaths_.find(before->pid);
        const bool is_over = (before->end != 0 && before->end <= execution.start) ||
                             (death != deaths_.end() && death->second <= execution.start);
        CAPTURE(before->pid, before->start, before->end);
        CHECK(is_over);
      }
      before = &execution;
    }
    if (execution.end != 0) completed.insert(task);
  }
  CHECK(
      std::to_string(completed.size()) ==
      database.value("select count(*) from pgflow.step_tasks where status = 'completed'")
  );
}

void Rig::stop_and_look() {
  INFO(supervisor_->err());
  std::vector<int> pids;
  for (const Worker& worker : workers()) pids.push_back(worker.pid);
  supervisor_->signal(SIGTERM);
  CHECK(supervisor_->wait(60s) == 0);
  for (const int pid : pids) CHECK_FALSE(is_alive(pid));
  CHECK(read_file(path("state/releases.jsonl")).empty());
  CHECK(database.value("select count(*) from pgflow.workers where stopped_at is null") == "0");
  for (const auto& lock : std::filesystem::directory_iterator(path("state/slots"))) {
    CHECK(read_file(lock.path()).find_first_not_of(" \n") == std::string::npos);
  }
}

}  // namespace pgflow::test
