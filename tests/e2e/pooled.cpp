// Workers behind PgBouncer in transaction mode, with fewer server connections than clients.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "integration/worker_harness.hpp"

using namespace pgflow::test;

namespace {

class Pooler {
 public:
  explicit Pooler(const Server& server, int pool_size) {
    const std::string config = folder_.path() + "/pgbouncer.ini";
    std::ofstream(config) << "[databases]\n* = host=" << server.host << " port=" << server.port
                          << " user=" << server.user << "\n[pgbouncer]\nlisten_addr =\n"
                          << "unix_socket_dir = " << folder_.path() << "\nlisten_port = 6432\n"
                          << "auth_type = any\npool_mode = transaction\n"
                          << "default_pool_size = " << pool_size << "\n";
    std::vector<std::string> command{"/usr/sbin/pgbouncer", config};
    if (::geteuid() == 0) {  // it refuses to run as root
      std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
      command.insert(
          command.begin(),
          {"/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}
      );
    }
    process_ = std::make_unique<Process>(Command{command});
    eventually("the pooler listens", 10s, [&] {
      return std::filesystem::exists(folder_.path() + "/.s.PGSQL.6432");
    });
  }

  // A later keyword wins.
  std::string url(const Database& database) const {
    return database.url() + " host=" + folder_.path() + " port=6432";
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Process> process_;
};

}  // namespace

TEST_CASE("workers behind a transaction pooler poll, settle and drain", "[e2e][pooler]") {
  const ProbeBench bench;
  const Pooler pooler(Server::shared(), 2);
  const std::vector<std::pair<std::string, std::string>> pooled{
      {"DATABASE_URL", pooler.url(bench.database)}
  };
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(bench.start_ready({"--step", "work"}, pooled));
  workers.push_back(bench.start_ready({"--step", "report"}, pooled));
  eventually("it has found out that it is deaf", 10s, [&] {
    return ProbeBench::said(*workers[0], "wake_ups.off");
  });

  const std::string completed =
      "select count(*) || ' ' || sum(attempts_count) from pgflow.step_tasks where status = "
      "'completed'";
  for (int i = 0; i < 50; ++i) bench.run("finish", std::to_string(i));
  eventually("50 runs are completed", 30s, [&] {
    return bench.database.value(completed) == "100 100";
  });
  CHECK(bench.count_noted("start 1 ") == 50);

  const std::string failed = bench.run("give_up");
  eventually("a failure is settled", 10s, [&] { return bench.run_status(failed) == "failed"; });

  for (const auto& worker : workers) worker->signal(SIGTERM);
  for (const auto& worker : workers) CHECK(worker->wait(10s) == 0);
  CHECK(bench.database.value("select count(stopped_at) from pgflow.workers") == "3");
}
