// A real worker under a supervisor that the test plays: the messages, orders and ends.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/strong.hpp"
#include "base/unique_fd.hpp"
#include "contract/board.hpp"
#include "contract/environment.hpp"
#include "contract/messages.hpp"
#include "integration/worker_harness.hpp"

using namespace pgflow;
using namespace pgflow::test;

namespace {

class Supervised {
 public:
  // `output`: where it writes, instead of a file.
  explicit Supervised(
      const ProbeBench& bench, const std::string& shape = "", std::optional<int> output = {}
  ) {
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets_.data()) == 0);
    std::vector<std::pair<int, int>> descriptors{{sockets_[1], 3}, {0, 4}, {board_fd_.get(), 5}};
    if (output) descriptors.insert(descriptors.end(), {{*output, 1}, {*output, 2}});
    worker = bench.start(
        {"--pgflow-worker", "--flow", "probeV1", "--step", "work"},
        {{"PGFLOW_SUPERVISOR_FD", "3"},
         {"PGFLOW_SLOT_FD", "4"},
         {"PGFLOW_BOARD_FD", "5"},
         {"PGFLOW_WORKER_ID", worker_id},
         {"PGFLOW_SLOT", "probeV1/work#1"},
         {"PGFLOW_REVISION", "r1"},
         {"PGFLOW_PROTOCOL", "1"},
         {"PROBE_SHAPE", shape}},
        std::move(descriptors)
    );
    ::close(sockets_[1]);
  }
  ~Supervised() { vanish(); }

  // The next message of this kind; what comes in between is dropped.
  template <class Message>
  Message await(std::chrono::milliseconds limit = 10s) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd ready{.fd = sockets_[0], .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 100) <= 0) continue;
      std::array<char, contract::kMaxPacketBytes> packet;
      const ssize_t size = ::recv(sockets_[0], packet.data(), packet.size(), 0);
      if (size <= 0) break;
      const auto message =
          contract::decode_from_worker({packet.data(), static_cast<std::size_t>(size)});
      REQUIRE(message);
      if (const auto* wanted = std::get_if<Message>(&*message)) return *wanted;
    }
    INFO(worker->err());
    FAIL("the message did not come");
    return {};
  }

  void send(const contract::FromSupervisor& message) const {
    const std::string packet = contract::encode(message);
    REQUIRE(::send(sockets_[0], packet.data(), packet.size(), MSG_NOSIGNAL) > 0);
  }

  void welcome(int concurrency) {
    await<contract::Hello>();
    send(contract::Welcome{.generation = "g", .concurrency = concurrency});
    await<contract::Ready>();
  }

  void vanish() {
    if (sockets_[0] >= 0) ::close(sockets_[0]);
    sockets_[0] = -1;
  }

  const std::string worker_id = WorkerId::random().text();
  std::unique_ptr<Process> worker;

 private:
  // Above those that it is copied to.
  const UniqueFd board_fd_{::fcntl(contract::Board::make()->get(), F_DUPFD_CLOEXEC, 10)};
  std::array<int, 2> sockets_{-1, -1};

 public:
  contract::Board board = *contract::Board::open(board_fd_.get());
};

}  // namespace

TEST_CASE(
    "a supervised worker says who it is, waits for its welcome, and reports its work",
    "[worker][supervised]"
) {
  const ProbeBench bench;
  Supervised supervised(bench);
  const auto hello = supervised.await<contract::Hello>();
  CHECK(
      hello == contract::Hello{supervised.worker->pid(), supervised.worker_id, "probeV1", "work"}
  );
  // It must not touch the database before the welcome.
  supervised.await<contract::Ping>();
  CHECK(bench.database.value("select count(*) from pgflow.workers") == "0");
  supervised.send(contract::Welcome{.generation = "g", .concurrency = 2});
  CHECK(supervised.await<contract::DatabaseState>().up);
  CHECK(supervised.await<contract::Ready>().queue_name == "probev1__work");
  CHECK(
      bench.database.value(
          "select worker_id || ' ' || function_name || ' ' || revision from pgflow.workers"
      ) == supervised.worker_id + " probeV1/work r1"
  );
  CHECK(
      bench.database.value(
          "select count(*) from pg_stat_activity where datname = current_database() and "
          "application_name = 'pgflow:" +
          supervised.worker_id + "'"
      ) == "2"
  );

  const std::string run = bench.run("finish");
  const auto ended = supervised.await<contract::TasksEnded>();
  CHECK(ended.outcome == "completed");
  CHECK(ended.milliseconds.size() == 1);
  CHECK(bench.task(run, "status") == "completed");

  const auto ping = supervised.await<contract::Ping>();
  CHECK(supervised.await<contract::Ping>().loop_seq > ping.loop_seq);
  CHECK(ping.in_flight == 0);

  supervised.send(contract::Drain{.deadline_milliseconds = 5000, .reason = "test"});
  CHECK(supervised.await<contract::Drained>() == contract::Drained{.clean = true, .released = 0});
  CHECK(supervised.worker->wait(5s) == 0);
}

TEST_CASE("the board shows which handlers run", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(2);
  const auto id = [&](const std::string& run) {
    return std::stoll(bench.database.value(
        "select message_id from pgflow.step_tasks where step_slug = 'work' and run_id = '" + run +
        "'"
    ));
  };
  std::vector<std::int64_t> two{id(bench.run("wait", "one")), id(bench.run("wait", "two"))};
  bench.run("wait", "three");
  eventually("two run, the third waits", 10s, [&] {
    auto running = supervised.board.running();
    std::sort(running.begin(), running.end());
    return running == two;
  });
  bench.open_gate();
  eventually("none runs", 10s, [&] {
    return bench.count_noted("end") == 3 && supervised.board.running().empty();
  });
}

TEST_CASE("concurrency is the supervisor's, and changes while tasks run", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(1);
  for (int i = 0; i < 4; ++i) bench.run("wait", std::to_string(i));
  const std::string started = "select count(*) from pgflow.step_tasks where status = 'started'";
  eventually("one runs", 10s, [&] { return bench.database.value(started) == "1"; });
  supervised.send(contract::SetLimits{.concurrency = 3});
  eventually("three run", 10s, [&] { return bench.database.value(started) == "3"; });
  bench.open_gate();
  eventually("all are done", 10s, [&] { return bench.count_noted("end") == 4; });
}

TEST_CASE("a supervisor's wake-up makes an idle worker look", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench, "patient");
  supervised.welcome(1);
  bench.await_idle_look();
  const std::string run = bench.run("finish");
  supervised.send(contract::Wake{});
  bench.await_task(run, "completed");
  // Step `report` waits for it, in another queue.
  CHECK(supervised.await<contract::Work>() == contract::Work{"probev1__report"});
}

TEST_CASE("a drain past its deadline gives back what does not end", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(4);
  const std::string heeds = bench.run("wait", "heeds");
  const std::string deaf = bench.run("ignore", "deaf");
  eventually("both run", 10s, [&] { return bench.count_noted("start") == 2; });
  supervised.send(contract::Drain{.deadline_milliseconds = 200, .reason = "test"});
  CHECK(supervised.await<contract::Drained>() == contract::Drained{.clean = false, .released = 2});
  CHECK(supervised.worker->wait(5s) == 0);
  CHECK(bench.noted("stopped 1 heeds"));
  for (const std::string& run : {heeds, deaf}) {
    CHECK(bench.task(run, "status") == "queued");
    CHECK(bench.task(run, "attempts_count") == "0");
  }
  CHECK(bench.database.value("select stopped_at is not null from pgflow.workers") == "t");
}

TEST_CASE("repeated signals to a supervised worker are one drain", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(1);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  for (int i = 0; i < 5; ++i) supervised.worker->signal(SIGTERM);
  eventually("it drains", 5s, [&] { return bench.said(*supervised.worker, "worker.draining"); });
  supervised.worker->signal(SIGTERM);
  bench.open_gate();
  CHECK(supervised.worker->wait(10s) == 0);
  CHECK(bench.task(run, "status") == "completed");
}

TEST_CASE("an orphan finishes what it has and exits 81", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(1);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  supervised.vanish();
  eventually("it knows", 5s, [&] { return bench.said(*supervised.worker, "supervisor.lost"); });
  const std::string later = bench.run("finish", "later");
  bench.open_gate();
  CHECK(supervised.worker->wait(10s) == 81);
  CHECK(bench.task(run, "status") == "completed");
  CHECK(bench.task(later, "status") == "queued");
}

TEST_CASE("an orphan whose output nobody reads any more ends no sooner", "[worker][supervised]") {
  const ProbeBench bench;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Supervised supervised(bench, "", writer.get());
  writer.reset();
  supervised.welcome(1);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  reader.reset();
  supervised.vanish();
  bench.open_gate();
  CHECK(supervised.worker->wait(10s) == 81);
  CHECK(bench.task(run, "status") == "completed");
}

TEST_CASE(
    "a worker that loses its supervisor before the welcome exits 81", "[worker][supervised]"
) {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.await<contract::Hello>();
  supervised.vanish();
  CHECK(supervised.worker->wait(5s) == 81);
  CHECK(bench.database.value("select count(*) from pgflow.workers") == "0");
}

TEST_CASE("a refused start tells the supervisor why", "[worker][supervised]") {
  const ProbeBench bench;
  bench.database.rows("drop schema pgflow cascade");
  Supervised supervised(bench);
  supervised.await<contract::Hello>();
  supervised.send(contract::Welcome{.generation = "g", .concurrency = 1});
  const auto fatal = supervised.await<contract::Fatal>();
  CHECK(fatal.code == "schema_missing");
  CHECK_THAT(fatal.hint, Catch::Contains("pgflow migrate up"));
  CHECK(supervised.worker->wait(5s) == 78);
}

TEST_CASE("a lost database is tried again when the supervisor says so", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(1);
  const std::string mine =
      "from pg_stat_activity where datname = current_database() and "
      "application_name = 'pgflow:" +
      supervised.worker_id + "'";
  eventually("both connections are there", 10s, [&] {
    return bench.database.value("select count(*) " + mine) == "2";
  });
  bench.database.rows("select pg_terminate_backend(pid) " + mine);
  supervised.await<contract::DatabaseWant>();
  // Asks for as long as nobody answers, and does not come by itself.
  supervised.await<contract::DatabaseWant>(15s);
  CHECK(bench.database.value("select count(*) " + mine) == "0");
  const std::string run = bench.run("finish");
  supervised.send(contract::DatabasePermit{});
  bench.await_task(run, "completed");
  CHECK(bench.database.value("select count(*) " + mine) == "2");
}

TEST_CASE("without its supervisor a worker comes back by itself", "[worker][supervised]") {
  const ProbeBench bench;
  Supervised supervised(bench);
  supervised.welcome(1);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgflow:" +
      supervised.worker_id + "'"
  );
  supervised.await<contract::DatabaseWant>();
  supervised.vanish();
  bench.open_gate();
  CHECK(supervised.worker->wait(30s) == 81);
  CHECK(bench.task(run, "status") == "completed");
}
