// A worker program without handlers, whose every misdeed can be ordered: FAKE_WORKER names what it
// does, FAKE_LEDGER a file to which each start appends "<step> <pid> <worker id>", and each
// wake-up, to the file beside it, "<step>".
//
// It connects to the database (plain libpq) only to register and, for "hold", to claim tasks.
#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "contract/board.hpp"
#include "contract/environment.hpp"
#include "contract/messages.hpp"

using namespace pgflow::contract;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

const std::string kManifest =
    R"({"pgflowManifest":1,"flowSlug":"fake","queueMode":"step",)"
    R"("routes":[{"stepSlug":"a","stepIndex":0,"queueName":"fake__a"},)"
    R"({"stepSlug":"b","stepIndex":1,"queueName":"fake__b"}],)"
    R"("shape":{"steps":[)"
    R"({"slug":"a","stepType":"single","dependencies":[],"whenUnmet":"skip","whenExhausted":"fail",)"
    R"("requiredInputPattern":{"defined":false},"forbiddenInputPattern":{"defined":false}},)"
    R"({"slug":"b","stepType":"single","dependencies":[],"whenUnmet":"skip","whenExhausted":"fail",)"
    R"("requiredInputPattern":{"defined":false},"forbiddenInputPattern":{"defined":false}}]},)"
    R"("fingerprint":"sha256:fake","protocol":1})";

int describe(const std::string& what) {
  if (what == "describe:rubbish") return std::puts("Hello, I am no manifest."), 0;
  if (what == "describe:nothing") return 0;
  if (what == "describe:hang") return pause(), 0;
  if (what == "describe:65") return std::fputs("error: bad flow\n", stderr), 65;
  if (what == "describe:endless") {
    for (;;) std::puts("y");
  }
  return std::puts(kManifest.c_str()), 0;
}

void note(const std::string& file, const std::string& line) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (write(fd, line.data(), line.size()) < 0) std::exit(70);
  close(fd);
}

void say(const FromWorker& message) {
  const std::string packet = encode(message);
  send(kSupervisorFd, packet.data(), packet.size(), MSG_NOSIGNAL);
}

// Waits for the next order; false: the supervisor is gone.
bool hear(int milliseconds, std::string& packet) {
  pollfd wait{kSupervisorFd, POLLIN, 0};
  packet.clear();
  if (poll(&wait, 1, milliseconds) <= 0) return true;
  char buffer[kMaxPacketBytes];
  const ssize_t size = recv(kSupervisorFd, buffer, sizeof buffer, 0);
  if (size > 0) packet.assign(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

PGconn* connect() {
  const std::string url = variable(kDatabaseUrlVariable) + " application_name='" +
                          std::string(kWorkerApplicationName) + variable(kWorkerIdVariable) + "'";
  PGconn* connection = PQconnectdb(url.c_str());
  static const std::unique_ptr<PGconn, decltype(&PQfinish)> closed_at_exit(connection, PQfinish);
  if (PQstatus(connection) != CONNECTION_OK) std::exit(75);
  return connection;
}

void run(PGconn* connection, const std::string& sql, auto row) {
  PGresult* result = PQexec(connection, sql.c_str());
  if (PQresultStatus(result) != PGRES_TUPLES_OK) {
    std::fprintf(stderr, "fake_worker: %s", PQerrorMessage(connection));
    std::exit(70);
  }
  for (int i = 0; i < PQntuples(result); ++i) row(result, i);
  PQclear(result);
}

// Claims up to `count` tasks and writes on the board that their handlers run.
void claim(PGconn* connection, const std::string& step, int count) {
  static auto board = *Board::open(kBoardFd);
  run(connection,
      "select msg_id from pgflow.read_and_claim('fake__" + step + "', 'fake', '" + step + "', '" +
          variable(kWorkerIdVariable) + "', " + std::to_string(count) +
          ") where outcome = 'claimed'",
      [&](PGresult* result, int i) {
        board.begin(static_cast<std::size_t>(i), std::atoll(PQgetvalue(result, i, 0)));
      });
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = variable("FAKE_WORKER");
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == kDescribeFlag) return describe(what);
  const std::string step = argc > 5 ? argv[5] : "";
  if (step != "a") what = "good";  // only pool a misbehaves
  const auto is = [&](const char* name) { return what.starts_with(name); };
  // The supervisor's death sends TERM: only a worker that clings may outlive it.
  if (is("clings")) signal(SIGTERM, SIG_IGN);
  const auto number = [&] { return std::atoi(what.substr(what.find(':') + 1).c_str()); };

  if (const std::string ledger = variable("FAKE_LEDGER"); !ledger.empty()) {
    note(ledger, step + " " + std::to_string(getpid()) + " " + variable(kWorkerIdVariable) + "\n");
  }
  if (is("daemon")) {  // a child that outlives the worker unless somebody sweeps
    if (fork() == 0) {
      setsid();
      for (int fd = 0; fd <= kBoardFd; ++fd) close(fd);
      for (;;) pause();
    }
  }
  if (is("exit:")) return number();
  if (is("talks")) {
    std::fputs(
        "printed\n2026-01-31T00:00:00.000000Z level=info component=worker event=logged\n", stdout
    );
    std::fflush(stdout);
  }
  if (is("silent")) {
    for (;;) pause();
  }
  if (is("garbage")) return send(kSupervisorFd, "garbage", 7, MSG_NOSIGNAL), pause(), 0;
  if (is("closes")) return close(kSupervisorFd), pause(), 0;

  if (is("stranger")) return say(Hello{getpid(), "somebody-else", "fake", step}), pause(), 0;
  say(Hello{getpid(), variable(kWorkerIdVariable), "fake", step});
  if (is("hello_twice")) say(Hello{getpid(), variable(kWorkerIdVariable), "fake", step});
  if (is("too_long")) {
    const std::string packet(kMaxPacketBytes + 1, ' ');
    send(kSupervisorFd, packet.data(), packet.size(), MSG_NOSIGNAL);
  }
  std::string packet;
  if (!hear(10'000, packet)) return 81;
  int concurrency = 0;
  const auto limit = [&](int most) {
    concurrency = most;
    note(variable("FAKE_LEDGER") + ".limits", step + " " + std::to_string(most) + "\n");
  };
  if (const auto welcome = decode_from_supervisor(packet);
      welcome && std::holds_alternative<Welcome>(*welcome)) {
    limit(std::get<Welcome>(*welcome).concurrency);
  }

  PGconn* connection = connect();
  run(connection,
      "select pgflow.register_worker('" + variable(kWorkerIdVariable) + "', 'fake__" + step +
          "', 'fake/" + step + "', 'process', " + std::to_string(getpid()) + ")",
      [](PGresult*, int) {});
  if (is("fatal:")) {
    say(Fatal{"routing", "The routes differ.", "", "Recompile."});
    return number();
  }
  say(Ready{"fake__" + step});
  if (is("ready_then_exit:")) return number();
  if (is("hold:")) claim(connection, step, number());
  if (is("segv")) {
    claim(connection, step, 1);
    std::fputs("\x1b[31mthe fake worker falls\n", stderr);
    signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would catch it
    raise(SIGSEGV);
  }
  if (is("deaf_hang")) signal(SIGABRT, SIG_IGN);
  if (is("hang") || is("deaf_hang")) {
    for (;;) pause();
  }
  for (std::uint64_t sequence = 1;; ++sequence) {
    say(Ping{
        .loop_seq = sequence,
        .heartbeat_seq = sequence,
        .concurrency = concurrency,
        .rss_bytes = is("fat:") ? std::int64_t{number()} << 20 : 0
    });
    if (!hear(200, packet)) {
      if (is("clings")) pause();  // outlives its supervisor, with its lock
      return 81;
    }
    const auto order = decode_from_supervisor(packet);
    if (is("gives_work") && sequence == 1) say(Work{"fake__b"});
    if (order && std::holds_alternative<Wake>(*order)) {
      note(variable("FAKE_LEDGER") + ".woken", step + "\n");
    }
    if (order && std::holds_alternative<SetLimits>(*order)) {
      limit(std::get<SetLimits>(*order).concurrency);
    }
    if (order && std::holds_alternative<Drain>(*order) && !is("ignores_drain")) {
      run(connection,
          "select pgflow.release_tasks('" + variable(kWorkerIdVariable) + "')",
          [](PGresult*, int) {});
      say(Drained{true, 0});
      return 0;
    }
  }
}
