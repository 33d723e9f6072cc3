// What one call of the engine costs by the size of its batch: milliseconds, CPU of the server
// process, statements with nested ones, buffers and WAL. `./dev bench engine` calls it with the
// address of a database that holds nothing but pgflow's schema, on a server with
// pg_stat_statements.
#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Rows = std::unique_ptr<PGresult, decltype(&PQclear)>;

constexpr const char* kWorker = "00000000-0000-4000-8000-000000000001";

class Session {
 public:
  explicit Session(const char* address) : connection_(PQconnectdb(address), PQfinish) {
    check(PQstatus(connection_.get()) == CONNECTION_OK);
  }
  Rows run(const std::string& sql) {
    Rows rows(PQexec(connection_.get(), sql.c_str()), PQclear);
    return checked(std::move(rows));
  }
  std::string value(const std::string& sql) { return PQgetvalue(run(sql).get(), 0, 0); }
  void prepare(const char* name, const std::string& sql) {
    checked(Rows(PQprepare(connection_.get(), name, sql.c_str(), 0, nullptr), PQclear));
  }
  Rows execute(const char* name, const std::vector<std::string>& values) {
    std::vector<const char*> pointers;
    pointers.reserve(values.size());
    for (const std::string& value : values) pointers.push_back(value.c_str());
    return checked(Rows(
        PQexecPrepared(
            connection_.get(),
            name,
            static_cast<int>(values.size()),
            pointers.data(),
            nullptr,
            nullptr,
            0
        ),
        PQclear
    ));
  }
  // Of the server process, in milliseconds.
  double cpu() const {
    std::ifstream file("/proc/" + std::to_string(PQbackendPID(connection_.get())) + "/schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    return nanoseconds / 1e6;
  }

 private:
  void check(bool good) {
    if (!good) throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  Rows checked(Rows rows) {
    const auto status = PQresultStatus(rows.get());
    check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
    return rows;
  }
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

struct Cost {
  std::vector<double> milliseconds, cpu;
  double statements = 0, buffers = 0, wal = 0;
};

// The call that is counted is not timed: counting costs time.
void measure(Session& session, Cost& cost, bool counted, const std::function<void()>& call) {
  if (counted) {
    session.run("set pg_stat_statements.track = 'all'; select pg_stat_statements_reset()");
    call();
    session.run("set pg_stat_statements.track = 'none'");
    const Rows sums = session.run(
        "select sum(calls), sum(shared_blks_hit + shared_blks_read) filter (where toplevel), "
        "sum(wal_bytes) filter (where toplevel) "
        "from pg_stat_statements where query not like 'set %' and query not like "
        "'%pg_stat_statements_reset%'"
    );
    cost.statements = std::stod(PQgetvalue(sums.get(), 0, 0));
    cost.buffers = std::stod(PQgetvalue(sums.get(), 0, 1));
    cost.wal = std::stod(PQgetvalue(sums.get(), 0, 2));
    return;
  }
  const double cpu = session.cpu();
  const auto began = Clock::now();
  call();
  cost.milliseconds.push_back(
      std::chrono::duration<double, std::milli>(Clock::now() - began).count()
  );
  cost.cpu.push_back(session.cpu() - cpu);
}

void report(const char* call, int batch, const Cost& cost) {
  std::printf(
      "%-22s %6d %10.2f %10.2f %12.1f %11.0f %11.1f %12.0f\n",
      call,
      batch,
      median(cost.milliseconds),
      median(cost.cpu),
      median(cost.cpu) * 1000 / batch,
      cost.statements,
      cost.buffers / batch,
      cost.wal / batch
  );
}

std::string settled(const Rows& claimed) {
  std::string items = "[";
  for (int i = 0; i < PQntuples(claimed.get()); ++i) {
    if (i > 0) items += ',';
    items += R"({"run_id":")" + std::string(PQgetvalue(claimed.get(), i, 0)) +
             R"(","step_slug":")" + PQgetvalue(claimed.get(), i, 1) + R"(","task_index":)" +
             PQgetvalue(claimed.get(), i, 2) + R"(,"attempt":)" + PQgetvalue(claimed.get(), i, 3) +
             R"(,"output":{"ok":true}})";
  }
  return items + "]";
}

void run(const char* address, const std::vector<int>& batches) {
  Session session(address);
  session.run("set client_min_messages = warning; create extension if not exists pg_stat_statements"
  );
  session.run(
      R"(select pgflow.ensure_flow_compiled('engine', '{"steps": [{"slug": "a", "stepType": "single", "dependencies": []},
        {"slug": "b", "stepType": "single", "dependencies": ["a"]},
        {"slug": "c", "stepType": "single", "dependencies": ["b"]}]}', 'step'))"
  );
  std::vector<std::string> queues;
  for (const char* step : {"a", "b", "c"})
    queues.push_back(session.value(
        std::string("select queue_name from pgflow.steps where step_slug = '") + step + "'"
    ));
  session.run(
      std::string("select pgflow.register_worker('") + kWorker + "', '" + queues.front() +
      "', 'engine')"
  );
  session.prepare(
      "start",
      "select run_id from pgflow.start_flows('engine', array_fill('{\"i\":0}'::jsonb, "
      "array[$1::int]))"
  );
  session.prepare(
      "claim",
      "select run_id, step_slug, task_index, attempt from pgflow.read_and_claim($1, 'engine', $2, "
      "$3, $4::int, false)"
  );
  session.prepare("settle", "select outcome from pgflow.complete_tasks($1::jsonb, $2)");

  std::printf(
      "%-22s %6s %10s %10s %12s %11s %11s %12s\n",
      "call",
      "batch",
      "ms",
      "cpu ms",
      "cpu us/task",
      "statements",
      "buffers/task",
      "wal B/task"
  );
  for (const int batch : batches) {
    const std::string size = std::to_string(batch);
    Cost start;
    std::vector<Cost> claim(3), settle(3);
    const int rounds = batch == 1 ? 100 : batch == 10 ? 50 : 9;
    for (int round = 0; round <= rounds; ++round) {
      const bool counted = round == rounds;
      measure(session, start, counted, [&] { session.execute("start", {size}); });
      for (std::size_t step = 0; step < 3; ++step) {
        Rows claimed(nullptr, PQclear);
        measure(session, claim[step], counted, [&] {
          claimed = session.execute(
              "claim", {queues[step], std::string(1, static_cast<char>('a' + step)), kWorker, size}
          );
        });
        if (PQntuples(claimed.get()) != batch)
          throw std::runtime_error("not every task was there to be claimed");
        const std::string items = settled(claimed);
        measure(session, settle[step], counted, [&] {
          session.execute("settle", {items, kWorker});
        });
      }
    }
    report("start_flows", batch, start);
    report("read_and_claim a", batch, claim[0]);
    report("read_and_claim b", batch, claim[1]);
    report("complete, releases b", batch, settle[0]);
    report("complete, ends the run", batch, settle[2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_engine ADDRESS [BATCH…]\n", stderr);
    return 64;
  }
  try {
    std::vector<int> batches;
    for (int i = 2; i < argc; ++i) batches.push_back(std::stoi(argv[i]));
    run(argv[1], batches.empty() ? std::vector<int>{1, 10, 100, 500, 1000} : batches);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "error: %s\n", why.what());
    return 70;
  }
}
