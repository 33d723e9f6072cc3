#include "local_pg/server.hpp"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "local_pg/access.hpp"
#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace fs = std::filesystem;
namespace local_pg = pgflow::local_pg;
using namespace pgflow;
using namespace std::chrono_literals;
using test::eventually;
using test::Process;
using test::TemporaryFolder;

namespace {

// A project folder that the server's user can reach, with a private server's owner process.
class Project {
 public:
  explicit Project(std::string user = "") : user_(std::move(user)) {
    chmod(folder_.path().c_str(), 0755);
    if (!user_.empty()) {
      const passwd* entry = getpwnam(user_.c_str());
      REQUIRE(entry != nullptr);
      REQUIRE(chown(folder_.path().c_str(), entry->pw_uid, entry->pw_gid) == 0);
      // The build folder may lie where this user may not go, such as in root's home.
      for (const char* program : {"/local_pg_probe", "/exec_shim_probe"}) {
        fs::copy_file(PGFLOW_BIN_DIR + std::string(program), folder_.path() + program);
      }
    }
  }
  ~Project() {
    if (auto running = local_pg::running_postmaster(data())) kill(running->pid, SIGQUIT);
  }

  std::string root() const { return folder_.path() + "/.pgflow"; }
  std::string data() const { return root() + "/data"; }
  std::string run_dir() const { return folder_.path() + "/run"; }

  Process owner(const std::vector<std::string>& more = {}) const {
    const std::string programs = user_.empty() ? PGFLOW_BIN_DIR : folder_.path();
    std::vector<std::string> arguments;
    if (!user_.empty()) {
      arguments = {
          "/usr/bin/setpriv",
          "--reuid=" + user_,
          "--regid=" + std::to_string(getpwnam(user_.c_str())->pw_gid),
          "--clear-groups"
      };
    }
    for (std::string argument :
         {programs + "/local_pg_probe", root(), run_dir(), programs + "/exec_shim_probe"}) {
      arguments.push_back(std::move(argument));
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process({.arguments = arguments});
  }

  std::string ask(const std::string& sql) const {
    uv::Loop loop;
    auto dsn = pg::Dsn::parse(local_pg::Endpoint{.socket_dir = run_dir()}.uri());
    REQUIRE(dsn);
    pg::Connection connection(loop, {.dsn = *dsn});
    auto connected = pg::await<void>(loop, 10s, [&](auto done) { connection.connect(done); });
    if (!connected) return "error: " + connected.error().text();
    auto rows = pg::await<pg::Rows>(loop, 10s, [&](auto done) {
      connection.query({"test", sql}, {}, done);
    });
    if (!rows) return "error: " + rows.error().text();
    return rows->empty() ? "" : rows->at(0, 0).text();
  }

 private:
  std::string user_;
  TemporaryFolder folder_;
};

void await_output(const Process& process, const std::string& begin) {
  eventually("the owner says " + begin, 60s, [&] {
    return process.out().find(begin) != std::string::npos;
  });
}

int stop(Process& process) {
  process.signal(SIGTERM);
  return process.wait(20s).value_or(-1);
}

}  // namespace

TEST_CASE(
    "a private server is made once, keeps its data, and leaves nothing running",
    "[local_pg][server]"
) {
  Project project;
  {
    Process owner = project.owner();
    await_output(owner, "ready created");
    CHECK(project.ask("show fsync") == "on");
    CHECK(project.ask("show synchronous_commit") == "on");
    CHECK(project.ask("show listen_addresses") == "");
    CHECK(project.ask("show data_checksums") == "on");
    CHECK(project.ask("show pgflow.environment") == "local");
    CHECK(project.ask("create table kept as select 42 as answer") == "");
    CHECK(stop(owner) == 0);
  }
  CHECK_FALSE(fs::exists(project.run_dir()));
  CHECK_FALSE(local_pg::running_postmaster(project.data()));
  Process owner = project.owner();
  await_output(owner, "ready found");
  CHECK(project.ask("select answer from kept") == "42");
  CHECK(stop(owner) == 0);
}

TEST_CASE("a second owner joins the running server and leaves it running", "[local_pg][server]") {
  Project project;
  // At once: whoever comes second joins, also while the first one is still making the cluster.
  Process one = project.owner();
  Process other = project.owner();
  const auto says = [](const Process& process, const std::string& begin) {
    return process.out().find(begin) != std::string::npos;
  };
  eventually("one is the owner, the other has joined", 60s, [&] {
    return (says(one, "ready created") && says(other, "attached found postgresql:///pgflow?host=")
           ) ||
           (says(other, "ready created") && says(one, "attached found postgresql:///pgflow?host="));
  });
  Process& owner = says(one, "ready") ? one : other;
  Process& guest = says(one, "ready") ? other : one;
  CHECK(stop(guest) == 0);
  CHECK(project.ask("select 1") == "1");
  CHECK(stop(owner) == 0);
}

TEST_CASE("who joined a server takes it over when its owner leaves", "[local_pg][server]") {
  const bool killed = GENERATE(false, true);
  CAPTURE(killed);
  Project project;
  Process owner = project.owner();
  await_output(owner, "ready");
  Process guest = project.owner();
  await_output(guest, "attached");
  CHECK(project.ask("create table kept as select 42 as answer") == "");
  owner.signal(killed ? SIGKILL : SIGTERM);
  owner.wait(20s);
  await_output(guest, "restarted");
  CHECK(project.ask("select answer from kept") == "42");
  CHECK(stop(guest) == 0);
  CHECK_FALSE(local_pg::running_postmaster(project.data()));
}

TEST_CASE("a server that was killed comes back with what was committed", "[local_pg][server]") {
  Project project;
  Process owner = project.owner();
  await_output(owner, "ready");
  CHECK(project.ask("create table kept as select 42 as answer") == "");
  auto before = local_pg::running_postmaster(project.data());
  REQUIRE(before);
  REQUIRE(kill(before->pid, SIGKILL) == 0);
  await_output(owner, "restarted");
  CHECK(project.ask("select answer from kept") == "42");
  CHECK(stop(owner) == 0);
}

TEST_CASE("an owner that is killed leaves no server behind", "[local_pg][server]") {
  Project project;
  {
    Process owner = project.owner();
    await_output(owner, "ready");
    owner.signal(SIGKILL);
    CHECK(owner.wait(5s) == 137);
  }
  eventually("the server is gone", 15s, [&] {
    return !local_pg::running_postmaster(project.data());
  });
  // A clean shutdown, so that the next start needs no recovery; and nothing stands in its way.
  Process owner = project.owner();
  await_output(owner, "ready found");
  CHECK(stop(owner) == 0);
}

TEST_CASE(
    "an owner that starts while the last one's server shuts down waits for it", "[local_pg][server]"
) {
  Project project;
  Process killed = project.owner();
  await_output(killed, "ready");
  killed.signal(SIGKILL);
  Process owner = project.owner();
  await_output(owner, "ready found");
  CHECK(stop(owner) == 0);
}

TEST_CASE("an interrupted initdb is begun anew", "[local_pg][server]") {
  Project project;
  fs::create_directories(project.root() + "/data.tmp/base");
  std::ofstream(project.root() + "/data.tmp/PG_VERSION") << "15\n";
  {
    Process owner = project.owner();
    eventually("initdb has begun", 20s, [&] {
      return fs::exists(project.root() + "/data.tmp/global");
    });
    owner.signal(SIGKILL);
    owner.wait(5s);
  }
  CHECK_FALSE(fs::exists(project.data()));
  Process owner = project.owner();
  await_output(owner, "ready created");
  CHECK(project.ask("select 1") == "1");
  CHECK(stop(owner) == 0);
}

TEST_CASE("an ephemeral server is gone with its data", "[local_pg][server]") {
  Project project;
  Process owner = project.owner({"--ephemeral"});
  await_output(owner, "ready created");
  CHECK(stop(owner) == 0);
  CHECK_FALSE(fs::exists(project.root()));
  CHECK_FALSE(fs::exists(project.run_dir()));
}

TEST_CASE(
    "an owner that is stopped in the middle of a start leaves nothing running", "[local_pg][server]"
) {
  Project project;
  Process owner = project.owner();
  eventually("initdb has begun", 20s, [&] {
    return fs::exists(project.root() + "/data.tmp/global");
  });
  CHECK(stop(owner) == 0);
  CHECK_FALSE(local_pg::running_postmaster(project.data()));
}

TEST_CASE("a user without root's rights runs a server as itself", "[local_pg][server]") {
  if (getuid() != 0) return;  // every other case does
  Project project("nobody");
  Process owner = project.owner();
  await_output(owner, "ready created");
  auto running = local_pg::running_postmaster(project.data());
  REQUIRE(running);
  struct stat status{};
  REQUIRE(stat(("/proc/" + std::to_string(running->pid)).c_str(), &status) == 0);
  CHECK(status.st_uid == getpwnam("nobody")->pw_uid);
  CHECK(project.ask("select current_user") == "pgflow");  // root may connect as well
  CHECK(stop(owner) == 0);
}

TEST_CASE("a folder that is no database is refused, and not touched", "[local_pg][server]") {
  Project project;
  fs::create_directories(project.data());
  std::ofstream(project.data() + "/precious") << "mine\n";
  Process owner = project.owner();
  CHECK(owner.wait(20s) == 69);
  CHECK(owner.out().find("is not a database folder") != std::string::npos);
  CHECK(test::read_file(project.data() + "/precious") == "mine\n");
}

TEST_CASE(
    "root's server is refused in a folder that its user may not enter, with a hint",
    "[local_pg][server]"
) {
  if (getuid() != 0) return;
  TemporaryFolder closed;  // mode 0700
  chmod(closed.path().c_str(), 0700);
  CHECK(
      local_pg::first_closed_folder(closed.path() + "/project/.pgflow", "postgres") ==
      fs::path(closed.path())
  );
  CHECK_FALSE(local_pg::first_closed_folder("/usr/lib", "postgres"));
  uv::Loop loop;
  local_pg::Server server(
      loop, {.root = closed.path() + "/.pgflow", .shim_program = PGFLOW_BIN_DIR "/exec_shim_probe"}
  );
  std::optional<Error> error;
  server.start([&](Result<local_pg::Started> started) {
    if (!started) error = started.error();
  });
  REQUIRE(error);
  CHECK(error->message == "user postgres may not enter " + closed.path());
  CHECK(error->hint.find("PGFLOW_DATA_DIR") != std::string::npos);
}
