// The verbs that talk to a running supervisor, against a real one; its workers are
// tests/integration/programs/fake_worker.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli_support.hpp"
#include "supervisor/views.hpp"

using namespace pgflow;
using namespace pgflow::test;
using supervisor::OrderDocument;
using supervisor::PoolDocument;
using supervisor::StatusDocument;

namespace {

// `pgflow up` with the pools fake/a (1 process, 4 tasks at once) and fake/b.
class Room {
 public:
  explicit Room(const Variables& more = {}, const std::string& health = "") {
    std::ofstream(config()) << R"({"version": 1, "supervisor": {"state_dir": "state")" << health
                            << R"(}, "flows": [{"slug": "fake", "worker": {"command": [")"
                            << PGFLOW_BIN_DIR << R"(/fake_worker"]}, "steps": {)"
                            << R"("a": {"processes": 1, "max_concurrent": 4}, "b": {}}}]})";
    Variables variables = {
        {"DATABASE_URL", database_.url()}, {"FAKE_WORKER", "good"}, {"FAKE_LEDGER", ledger()}
    };
    variables.insert(variables.end(), more.begin(), more.end());
    supervisor_.emplace(pgflow_command({"up", "-c", config()}, variables));
    eventually("it is ready", 30s, [&] { return tell({"healthcheck"}).exit_code == 0; });
  }

  Ended tell(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-c", config()});
    return run_pgflow(arguments);
  }
  OrderDocument order(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", "json"});
    const Ended ended = tell(arguments);
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return from_json<OrderDocument>(ended.out);
  }
  Process& supervisor() { return *supervisor_; }
  std::string folder() const { return folder_.path(); }
  std::string socket() const { return folder_.path() + "/state/control.sock"; }
  std::string url() const { return database_.url(); }

 private:
  std::string config() const { return folder_.path() + "/pgflow.json"; }
  std::string ledger() const { return folder_.path() + "/ledger"; }

  TemporaryFolder folder_;
  Database database_;
  std::optional<Process> supervisor_;
};

std::set<std::string> workers(const std::vector<PoolDocument>& pools) {
  std::set<std::string> ids;
  for (const PoolDocument& pool : pools) {
    for (const auto& slot : pool.slots) {
      if (slot.worker_id) ids.insert(*slot.worker_id);
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("scale changes a pool, and --reset brings the file's numbers back", "[cli][control]") {
  const Room room;
  auto pools = room.order({"scale", "fake/a=3x2", "--wait", "--timeout", "30s"}).pools;
  REQUIRE(pools.size() == 1);
  CHECK(pools[0].ready == 3);
  CHECK(pools[0].max_concurrent == 2);
  CHECK(pools[0].overridden);
  pools = room.order({"scale", "a=x5"}).pools;
  CHECK(pools[0].processes == 3);
  CHECK(pools[0].max_concurrent == 5);
  pools = room.order({"scale", "a", "--reset", "--wait", "--timeout", "30s"}).pools;
  CHECK(pools[0].ready == 1);
  CHECK(pools[0].max_concurrent == 4);
  CHECK_FALSE(pools[0].overridden);
  CHECK(room.tell({"scale", "a=many"}).exit_code == 64);
  CHECK(room.tell({"scale", "a=1000"}).exit_code == 1);
  const Ended wrong = room.tell({"scale", "a=1001"});
  CHECK(wrong.exit_code == 64);
  CHECK(contains(wrong.err, "0 to 1000 processes"));
  std::filesystem::create_symlink("/dev/full", room.folder() + "/state/overrides.json.new");
  const Ended unkept = room.tell({"scale", "a=2"});
  CHECK(unkept.exit_code == 71);
  CHECK(contains(unkept.err, "hint: Make room on the disk"));
}

TEST_CASE(
    "a paused pool has no worker until it is resumed, and status says why", "[cli][control]"
) {
  const Room room;
  auto pools = room.order({"pause", "b", "--reason", "tea", "--wait", "--timeout", "30s"}).pools;
  REQUIRE(pools.size() == 1);
  CHECK(pools[0].state == "paused");
  CHECK(workers(pools).empty());
  const Ended status = room.tell({"status", "-d", room.url()});
  CHECK(contains(status.out, "SUPERVISOR  running"));
  CHECK(contains(status.out, "fake/b  paused"));
  CHECK(contains(status.out, "tea"));
  const auto view =
      from_json<cli::StatusView>(room.tell({"status", "-o", "json", "-d", room.url()}).out);
  REQUIRE(view.supervisor);
  CHECK(view.supervisor->pools.size() == 2);
  CHECK(view.flows.size() == 1);
  const Ended uncovered = room.tell({"coverage", "-d", room.url()});
  CHECK(uncovered.exit_code == 1);
  CHECK(contains(uncovered.err, "fake/b is paused by the supervisor here: `pgflow resume fake/b`"));
  const Ended hopeless = room.tell({"restart", "b", "--wait"});
  CHECK(hopeless.exit_code == 1);
  CHECK(contains(hopeless.err, "pgflow resume fake/b"));
  pools = room.order({"resume", "b", "--wait", "--timeout", "30s"}).pools;
  CHECK(pools[0].state == "active");
  CHECK(pools[0].ready == 1);
}

TEST_CASE("drain empties every pool, start fills them again", "[cli][control]") {
  const Room room;
  CHECK(workers(room.order({"drain", "--wait", "--timeout", "20s"}).pools).empty());
  CHECK(room.order({"start", "--all", "--wait", "--timeout", "30s"}).pools.size() == 2);
}

TEST_CASE("restart leaves no worker that ran before", "[cli][control]") {
  const Room room;
  const auto before = workers(room.order({"resume", "--all"}).pools);
  CHECK(before.size() == 2);
  for (const auto& id : workers(room.order({"restart", "--all", "--wait"}).pools)) {
    CHECK_FALSE(before.contains(id));
  }
}

TEST_CASE("stop ends the supervisor, whose socket goes with it", "[cli][control]") {
  Room room;
  CHECK(room.tell({"stop", "--wait", "--timeout", "30s"}).exit_code == 0);
  CHECK(room.supervisor().wait(5s) == 0);
  const Ended gone = room.tell({"healthcheck"});
  CHECK(gone.exit_code == 69);
  CHECK(contains(gone.err, room.folder() + "/state/control.sock"));
  const Ended status = room.tell({"status", "-d", room.url()});
  CHECK(status.exit_code == 0);
  CHECK_FALSE(contains(status.out, "SUPERVISOR"));
}

TEST_CASE("an unknown pool is 66 with what was perhaps meant", "[cli][control]") {
  const Room room;
  const Ended wrong = room.tell({"pause", "fake/aa"});
  CHECK(wrong.exit_code == 66);
  CHECK(contains(wrong.err, "Did you mean \"fake/a\"?"));
  const Ended none = room.tell({"pause"});
  CHECK(none.exit_code == 64);
  CHECK(contains(none.err, "--all"));
}

TEST_CASE("a killed supervisor's socket is taken over by the next one", "[cli][control]") {
  Room room;
  room.supervisor().signal(SIGKILL);
  CHECK(room.supervisor().wait(5s) == 137);
  CHECK(access((room.folder() + "/state/control.sock").c_str(), F_OK) == 0);
  CHECK(room.tell({"healthcheck", "minimal"}).exit_code == 69);
  Process next(pgflow_command(
      {"up", "-c", room.folder() + "/pgflow.json"},
      {{"DATABASE_URL", room.url()},
       {"FAKE_WORKER", "good"},
       {"FAKE_LEDGER", room.folder() + "/ledger2"}}
  ));
  eventually("the next one answers", 20s, [&] {
    return room.tell({"healthcheck", "minimal"}).exit_code == 0;
  });
}

TEST_CASE("the metrics tell of pools, queues and the process", "[cli][control]") {
  const Room room;
  eventually("the queues are sampled", 15s, [&] {
    return contains(room.tell({"metrics"}).out, "pgflow_step_covered{flow=\"fake\",step=\"b\"} 1");
  });
  const std::string text = room.tell({"metrics"}).out;
  for (const std::string line :
       {"pgflow_workers{flow=\"fake\",state=\"ready\",step=\"a\"} 1",
        "pgflow_worker_starts_total{flow=\"fake\",step=\"a\"} 1",
        "pgflow_worker_slots{flow=\"fake\",step=\"a\"} 4",
        "pgflow_pool_state{flow=\"fake\",state=\"active\",step=\"b\"} 1",
        "pgflow_queue_ready_messages{flow=\"fake\",queue=\"fake__a\",step=\"a\"} 0",
        "pgflow_db_up 1",
        "pgflow_supervisor_ready_once 1"}) {
    CAPTURE(line);
    CHECK(contains(text, line));
  }
  CHECK(contains(text, "process_resident_memory_bytes "));
  CHECK(contains(text, "# TYPE pgflow_loop_lag_seconds histogram"));
}

TEST_CASE("a service manager hears READY, the state, the watchdog and the stop", "[cli][control]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/notify";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  std::string heard;
  const auto hears = [&](const std::string& text) {
    eventually("the manager hears " + text, 20s, [&] {
      char buffer[4096];
      for (ssize_t size = 0; (size = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0;) {
        heard.append(buffer, static_cast<std::size_t>(size));
        heard += '\n';
      }
      return heard.find(text) != std::string::npos;
    });
  };
  Room room({{"NOTIFY_SOCKET", path}, {"WATCHDOG_USEC", "200000"}});
  hears("READY=1");
  hears("STATUS=2/2 ready");
  hears("WATCHDOG=1");
  room.supervisor().signal(SIGTERM);
  hears("STOPPING=1");
  hears("EXTEND_TIMEOUT_USEC=");
  CHECK(room.supervisor().wait(20s) == 0);
  close(fd);
}

TEST_CASE("a dead worker's last words are in worker show and in status", "[cli][control]") {
  const Room room(Variables{{"FAKE_WORKER", "talks"}});
  const auto before =
      from_json<cli::StatusView>(room.tell({"status", "-o", "json", "-d", room.url()}).out);
  REQUIRE(before.supervisor);
  const auto slot = before.supervisor->pools.at(0).slots.at(0);
  REQUIRE(slot.pid);
  REQUIRE(slot.worker_id);
  REQUIRE(kill(*slot.pid, SIGKILL) == 0);
  Ended shown;
  eventually("its end is known", 20s, [&] {
    shown = room.tell({"worker", "show", *slot.worker_id, "-d", room.url()});
    return contains(shown.out, "ended  ");
  });
  INFO(shown.out);
  CHECK(contains(shown.out, "last said  printed\n"));
  const Ended status = room.tell({"status", "-d", room.url()});
  INFO(status.out);
  CHECK(contains(status.out, "external_kill"));
  CHECK(contains(status.out, "last said by " + slot.worker_id->substr(0, 8) + ":\n    printed\n"));
}

TEST_CASE(
    "logs shows what workers wrote, a pool's, a worker's, and what they write next",
    "[cli][control]"
) {
  Room room(Variables{{"FAKE_WORKER", "talks"}});
  const auto logs = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "logs");
    const Ended ended = room.tell(arguments);
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return ended.out;
  };
  CHECK(logs({}).starts_with("fake/a#1 | printed\nfake/a#1 | 2026-01-31T"));
  CHECK(logs({"a", "-n", "1"}).find("printed") == std::string::npos);
  CHECK(logs({"b"}).empty());
  CHECK(contains(room.tell({"logs", "b"}).err, "hint: Nothing was written yet."));
  CHECK(room.tell({"logs", "a", "-n0"}).err.empty());
  const auto line = from_json<supervisor::LogLineDocument>(logs({"-n1", "-o", "jsonl"}));
  CHECK(line.slot == 1);
  CHECK(line.text.ends_with("event=logged"));
  CHECK(logs({line.worker_id.substr(0, 8)}).find("printed") != std::string::npos);
  CHECK(room.tell({"logs", "x"}).exit_code == 66);

  Process following(pgflow_command({"logs", "-f", "a", "-n0", "--socket", room.socket()}));
  REQUIRE(room.tell({"restart", "a"}).exit_code == 0);
  eventually("the next worker's line is there", 20s, [&] {
    return following.out().find("fake/a#2 | printed") != std::string::npos ||
           following.out().find("fake/a#1 | printed") != std::string::npos;
  });
  room.supervisor().signal(SIGTERM);
  CHECK(following.wait(20s) == 0);
  CHECK(room.tell({"logs"}).exit_code == 69);
}
