// Our side of `./dev bench W1…W7`: the flows of the workloads (their handlers do nothing unless
// said otherwise), and the driver that starts a real supervisor with them, starts their runs, and
// prints what it measured as one JSON line.
//
//   bench_flow W1|…|W7 [n=…] [map=…] [prefill=…] [pre=…] [shared=1] [held=1]
//
// PGURL names the database; its schemas pgflow and pgmq are dropped and made anew.
#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <pgflow/client.hpp>
#include <pgflow/main.hpp>
#include <sstream>
#include <thread>

#include "support/process.hpp"

using namespace pgflow;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// --- the flows

struct Input {
  int i = 0;
};
struct Ok {
  bool ok = true;
};
// When the handler began: nanoseconds since 1970, comparable among processes.
struct Began {
  std::int64_t at = 0;
};

std::int64_t now_ns() {
  return std::chrono::system_clock::now().time_since_epoch() / 1ns;
}

auto single() {
  return with_step_queues(flow<"benchSingle", Input>().step<"job">([](const Input&) { return Ok{}; }
  ));
}
auto chain() {
  return with_step_queues(flow<"benchChain", Input>().step<"a">([](const Input&) { return Ok{}; }
  ).step<"b">(depends_on<"a">, [](const Ok& a) {
     return a;
   }).step<"c">(depends_on<"b">, [](const Ok& b) { return b; }));
}
auto fan_out() {
  return with_step_queues(flow<"benchFanOut", std::vector<int>>().map<"m">([](int) { return Ok{}; }
  ).step<"reduce">(depends_on<"m">, [](const std::vector<Ok>& all) { return Ok{!all.empty()}; }));
}
auto pair_of_steps() {
  return with_step_queues(flow<"benchPair", Input>().step<"x">([](const Input&) { return Ok{}; }
  ).step<"y">(depends_on<"x">, [](const Ok& x) { return x; }));
}
template <fixed_string Slug>
auto slow_and_fast() {
  return flow<Slug, Input>()
      .template step<"slow">([](const Input&) {
        std::this_thread::sleep_for(500ms);
        return Ok{};
      })
      .template step<"fast">([](const Input&) { return Began{now_ns()}; });
}
auto step_queues() {
  return with_step_queues(slow_and_fast<"benchStepQueues">());
}
auto one_queue() {
  return slow_and_fast<"benchOneQueue">();
}

// --- the database, as somebody else sees it

class Sql {
 public:
  explicit Sql(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
    run("set client_min_messages = warning");
  }

  std::vector<std::string> column(const std::string& sql) {
    const Rows rows(PQexec(connection_.get(), sql.c_str()), PQclear);
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK &&
        PQresultStatus(rows.get()) != PGRES_COMMAND_OK)
      fail();
    std::vector<std::string> values;
    for (int i = 0; i < PQntuples(rows.get()); ++i)
      values.emplace_back(PQgetvalue(rows.get(), i, 0));
    return values;
  }
  void run(const std::string& sql) { column(sql); }

  void prepare_ended() {
    const Rows rows(
        PQprepare(
            connection_.get(),
            "ended",
            "select status <> 'started' from pgflow.runs where run_id = $1::uuid",
            1,
            nullptr
        ),
        PQclear
    );
    if (PQresultStatus(rows.get()) != PGRES_COMMAND_OK) fail();
  }
  bool ended(const std::string& run_id) {
    const char* values[] = {run_id.c_str()};
    const Rows rows(
        PQexecPrepared(connection_.get(), "ended", 1, values, nullptr, nullptr, 0), PQclear
    );
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) fail();
    return std::string_view(PQgetvalue(rows.get(), 0, 0)) == "t";
  }

 private:
  using Rows = std::unique_ptr<PGresult, decltype(&PQclear)>;
  [[noreturn]] void fail() { throw std::runtime_error(PQerrorMessage(connection_.get())); }
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

// --- the driver

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

template <class Fact>
void until(std::chrono::milliseconds pause, Fact fact) {
  const auto began = Clock::now();
  while (!fact()) {
    if (seconds_since(began) > 150) throw std::runtime_error("not within 150 s");
    std::this_thread::sleep_for(pause);
  }
}

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(p * static_cast<double>(values.size()));
  return values.at(std::min(values.size() - 1, at));
}

class Driver {
 public:
  Driver(std::string workload, std::map<std::string, int> arguments)
      : workload_(std::move(workload)), arguments_(std::move(arguments)) {
    const char* url = std::getenv("PGURL");
    if (url == nullptr) throw std::runtime_error("PGURL names no database");
    url_ = url;
    setenv("DATABASE_URL", url, 1);
    Sql(url_).run("drop schema if exists pgflow cascade; drop schema if exists pgmq cascade");
    test::Process migrate({{bin_ + "/pgflow", "migrate", "up"}});
    if (migrate.wait(60s) != 0) throw std::runtime_error(migrate.err());
  }

  void run() {
    if (workload_ == "W1" || workload_ == "W6" || workload_ == "W7") {
      const int runs = argument("n", workload_ == "W6" ? 4000 : workload_ == "W7" ? 30000 : 20000);
      const auto flow = single();
      return throughput(
          flow, "benchSingle", R"("job": {"processes": 2})", std::vector<Input>(at(runs)), 1
      );
    }
    if (workload_ == "W2") {
      const int runs = argument("n", 5000);
      return throughput(
          chain(), "benchChain", R"("a": {}, "b": {}, "c": {})", std::vector<Input>(at(runs)), 3
      );
    }
    if (workload_ == "W3") {
      const int size = argument("map", 1000);
      std::vector<int> elements(at(size));
      for (int i = 0; i < size; ++i) elements[at(i)] = i;
      return throughput(
          fan_out(),
          "benchFanOut",
          R"("m": {"processes": 2}, "reduce": {})",
          std::vector(at(argument("n", 20)), elements),
          size + 1
      );
    }
    if (workload_ == "W4") return latency();
    if (workload_ == "W5") {
      const std::string two = R"({"max_concurrent": 2})";
      if (argument("shared", 0) == 0)
        return starvation(
            step_queues(), "benchStepQueues", "\"slow\": " + two + ", \"fast\": " + two
        );
      return starvation(one_queue(), "benchOneQueue", "");
    }
    throw std::runtime_error("there is no workload " + workload_);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int argument(const std::string& name, int otherwise) const {
    const auto found = arguments_.find(name);
    return found == arguments_.end() ? otherwise : found->second;
  }

  // Steps without a pool's members are a plain flow.
  void start_supervisor(const std::string& slug, const std::string& steps) {
    std::ofstream config(folder_.path() + "/pgflow.json");
    config << R"({"version": 1, "supervisor": {"state_dir": "state"}, "flows": [{"slug": ")" << slug
           << R"(", "worker": {"command": [")" << bin_ << R"(/bench_flow"]}, )"
           << (steps.empty() ? R"("queue_mode": "flow", "max_concurrent": 4)"
                             : R"("queue_mode": "step", "steps": {)" + steps + "}")
           << "}]}";
    config.close();
    supervisor_.emplace(
        test::Command{{bin_ + "/pgflow", "up", "-c", folder_.path() + "/pgflow.json"}}
    );
  }

  void await_workers(Sql& sql, int at_least) {
    until(5ms, [&] {
      if (!supervisor_->running()) throw std::runtime_error(supervisor_->err());
      return sql.column("select worker_id from pgflow.workers where stopped_at is null").size() >=
             at(at_least);
    });
  }

  // CPU seconds of the supervisor's children, the largest resident size among them, and its own CPU
  // seconds.
  struct Cost {
    double workers = 0;
    double supervisor = 0;
    long resident_kb = 0;
  };
  Cost cost() const {
    Cost cost;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (std::isdigit(static_cast<unsigned char>(entry.path().filename().native().front())) == 0)
        continue;
      const std::string stat = test::read_file(entry.path().string() + "/stat");
      const auto name_end = stat.rfind(')');
      if (name_end == std::string::npos) continue;
      std::istringstream fields(stat.substr(name_end + 2));
      std::vector<std::string> field(std::istream_iterator<std::string>(fields), {});
      const double used = (std::stod(field.at(11)) + std::stod(field.at(12))) / ticks;
      if (std::stoi(entry.path().filename()) == supervisor_->pid()) cost.supervisor = used;
      if (std::stoi(field.at(1)) != supervisor_->pid()) continue;
      cost.workers += used;
      const std::string status = test::read_file(entry.path().string() + "/status");
      const auto high = status.find("VmHWM:");
      if (high != std::string::npos)
        cost.resident_kb = std::max(cost.resident_kb, std::stol(status.substr(high + 6)));
    }
    return cost;
  }

  template <class F, class I>
  void throughput(
      const F& flow,
      const std::string& slug,
      const std::string& steps,
      const std::vector<I>& inputs,
      int tasks_a_run
  ) {
    Sql sql(url_);
    // Compiled by a supervisor that works on nothing yet; the clock does not run.
    start_supervisor(slug, steps);
    await_workers(sql, static_cast<int>(std::count(steps.begin(), steps.end(), '{')));
    stop_supervisor();
    if (const int prefill = argument("prefill", 0); prefill > 0) fill(sql, slug, prefill);
    std::optional<Sql> held;
    if (argument("held", 0) != 0) {
      held.emplace(url_);
      held->run("begin isolation level repeatable read; select 1 from pg_class limit 1");
    }

    // A run has ended when none of its steps has a message left: the next step's comes with the
    // commit that takes the last one's away. Finished runs are not read for it.
    std::string any_message = "select false";
    for (const std::string& queue :
         sql.column("select queue_name from pgflow.steps where flow_slug = '" + slug + "'"))
      any_message += " or (select min(msg_id) from pgmq.q_" + queue + ") is not null";

    Client client(url_);
    auto began = Clock::now();
    for (std::size_t from = 0; from < inputs.size(); from += 1000) {
      client.start_many(
          flow,
          std::vector<I>(
              inputs.begin() + static_cast<long>(from),
              inputs.begin() + static_cast<long>(std::min(from + 1000, inputs.size()))
          )
      );
    }
    const double enqueue = seconds_since(began);
    began = Clock::now();
    start_supervisor(slug, steps);
    until(10ms, [&] {
      if (!supervisor_->running()) throw std::runtime_error(supervisor_->err());
      return sql.column(any_message).front() == "f";
    });
    const double drain = seconds_since(began);
    const Cost used = cost();
    if (sql.column("select count(*) from pgflow.runs where status <> 'completed'").front() != "0")
      throw std::runtime_error("runs failed");

    const double runs = static_cast<double>(inputs.size());
    const double tasks = runs * tasks_a_run;
    std::printf(
        R"({"system":"pgflow-cpp","workload":"%s","prefill":%d,"runs":%.0f,"tasks":%.0f,"enqueue_s":%.3f,"drain_s":%.3f,"runs_per_s":%.1f,"tasks_per_s":%.1f,"drain_tasks_per_s":%.1f,"worker_cpu_s_per_1000":%.5f,"supervisor_cpu_s_per_1000":%.5f,"rss_kb":%ld})"
        "\n",
        workload_.c_str(),
        argument("prefill", 0),
        runs,
        tasks,
        enqueue,
        drain,
        runs / (enqueue + drain),
        tasks / (enqueue + drain),
        tasks / drain,
        used.workers * 1000 / tasks,
        used.supervisor * 1000 / tasks,
        used.resident_kb
    );
    stop_supervisor();
  }

  // Finished one-step runs, as they lie in the tables afterwards.
  void fill(Sql& sql, const std::string& slug, int runs) {
    sql.run(
        "with r as (insert into pgflow.runs (flow_slug, status, input, output, remaining_steps, "
        "completed_at) "
        "  select '" +
        slug +
        "', 'completed', '{\"i\":0}', '{\"job\":{\"ok\":true}}', 0, now() from "
        "generate_series(1, " +
        std::to_string(runs) +
        ") returning run_id), "
        "s as (insert into pgflow.step_states (flow_slug, run_id, step_slug, status, "
        "remaining_tasks, initial_tasks, remaining_deps, output, started_at, completed_at) "
        "  select '" +
        slug +
        "', run_id, 'job', 'completed', 0, 1, 0, '{\"ok\":true}', now(), now() from r), "
        "q as (select r.run_id, nextval(pg_get_serial_sequence('pgmq.q_' || st.queue_name, "
        "'msg_id')) as msg_id, st.queue_name from r, pgflow.steps st where st.flow_slug = '" +
        slug +
        "') "
        "insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, "
        "message_id, status, attempts_count, output, started_at, completed_at) "
        "  select '" +
        slug +
        "', run_id, 'job', 0, queue_name, msg_id, 'completed', 1, '{\"ok\":true}', now(), now() "
        "from q"
    );
    const std::string queue =
        sql.column("select queue_name from pgflow.steps where flow_slug = '" + slug + "'").front();
    sql.run(
        "insert into pgmq.a_" + queue +
        " (msg_id, read_ct, enqueued_at, vt, message) select message_id, 1, now(), now(), "
        "jsonb_build_object('flow_slug', flow_slug, 'run_id', run_id, 'step_slug', step_slug, "
        "'task_index', task_index) from pgflow.step_tasks"
    );
    sql.run("vacuum analyze");
    sql.run("checkpoint");
  }

  void latency() {
    const auto flow = pair_of_steps();
    Sql sql(url_);
    start_supervisor("benchPair", R"("x": {}, "y": {})");
    await_workers(sql, 2);
    std::this_thread::sleep_for(1s);  // as the peers wait
    sql.prepare_ended();
    Client client(url_);
    std::vector<double> times;
    for (int i = 0; i < argument("n", 200); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3 + i * 7 % 11));
      const auto began = Clock::now();
      const std::string run_id = client.start(flow, {i});
      while (!sql.ended(run_id)) std::this_thread::sleep_for(500us);
      times.push_back(seconds_since(began) * 1000);
    }
    report(times);
  }

  template <class F>
  void starvation(const F& flow, const std::string& slug, const std::string& steps) {
    Sql sql(url_);
    start_supervisor(slug, steps);
    await_workers(sql, steps.empty() ? 1 : 2);
    std::this_thread::sleep_for(1s);
    Client client(url_);
    for (int i = 0; i < argument("pre", 50); ++i) client.start(flow, {i});
    std::this_thread::sleep_for(1s);
    std::map<std::string, std::int64_t> started;
    for (int i = 0; i < argument("n", 100); ++i) {
      const std::int64_t began = now_ns();
      started.emplace(client.start(flow, {i}), began);
      std::this_thread::sleep_for(50ms);
    }
    const auto done = [&] {
      return sql.column(
          "select run_id || ' ' || (output ->> 'at') from pgflow.step_states where step_slug = "
          "'fast' and status = 'completed'"
      );
    };
    until(50ms, [&] { return done().size() == started.size() + at(argument("pre", 50)); });
    std::vector<double> times;
    for (const std::string& line : done()) {
      const auto found = started.find(line.substr(0, 36));
      if (found != started.end())
        times.push_back(static_cast<double>(std::stoll(line.substr(37)) - found->second) / 1e6);
    }
    report(times);
  }

  void report(const std::vector<double>& times) {
    const Cost used = cost();
    std::printf(
        R"({"system":"pgflow-cpp","workload":"%s","n":%zu,"p50_ms":%.3f,"p99_ms":%.3f,"rss_kb":%ld})"
        "\n",
        workload_.c_str(),
        times.size(),
        percentile(times, .5),
        percentile(times, .99),
        used.resident_kb
    );
    stop_supervisor();
  }

  void stop_supervisor() {
    supervisor_->signal(SIGTERM);
    if (!supervisor_->wait(60s)) throw std::runtime_error("the supervisor does not end");
    supervisor_.reset();
  }

  const std::string workload_;
  const std::map<std::string, int> arguments_;
  const std::string bin_ = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string url_;
  test::TemporaryFolder folder_;
  std::optional<test::Process> supervisor_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] != 'W') {
    return pgflow::main(argc, argv, [] {
      return flows(single(), chain(), fan_out(), pair_of_steps(), step_queues(), one_queue());
    });
  }
  try {
    std::map<std::string, int> arguments;
    for (int i = 2; i < argc; ++i) {
      const std::string_view text = argv[i];
      const auto sign = text.find('=');
      arguments.emplace(text.substr(0, sign), std::stoi(std::string(text.substr(sign + 1))));
    }
    Driver(argv[1], std::move(arguments)).run();
  } catch (const std::exception& why) {
    std::fprintf(stderr, "error: %s\n", why.what());
    return 70;
  }
}
