#include "supervisor/control/control_room.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "supervisor/control/documents.hpp"
#include "supervisor/control/health.hpp"
#include "supervisor/control/http_client.hpp"
#include "supervisor/control/listening.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::supervisor;
using test::eventually;
using namespace std::chrono_literals;

namespace {

// With one ready worker.
PoolView pool(const std::string& flow, const std::string& step, const std::string& worker_id) {
  PoolView view;
  view.flow_slug = flow;
  view.step_slug = step;
  SlotView& slot = view.slots.emplace_back();
  slot.number = 1;
  slot.state = SlotState::ready;
  slot.worker_id = worker_id;
  return view;
}

PoolView pool_in(PoolState state) {
  PoolView view;
  view.state = state;
  return view;
}

Snapshot running() {
  Snapshot view;
  view.phase = Phase::running;
  return view;
}

// Remembers what it was ordered; everything is accepted but what names pool "b" or a worker "x".
class FakeOrders : public Orders {
 public:
  FakeOrders() {
    view.name = "test";
    view.phase = Phase::running;
    view.was_ready = true;
    view.database_up = true;
    view.pools = {pool("f", "a", "w1"), pool("g", "", "w2")};
  }

  Snapshot snapshot() const override {
    const std::lock_guard lock(mutex);
    return view;
  }
  Result<void> scale(const PoolName& pool, const ScaleOrder& order) override {
    return note(
        pool,
        "scale " + std::to_string(order.processes.value_or(-1)) + " " +
            std::to_string(order.max_concurrent.value_or(-1)) + " " +
            std::to_string(order.ttl.value_or(-1ms).count())
    );
  }
  Result<void> reset_scale(const PoolName& pool) override { return note(pool, "reset"); }
  Result<void> pause(const PoolName& pool, const PauseOrder& order) override {
    return note(
        pool, "pause " + order.reason + " " + std::to_string(order.deadline.value_or(-1ms).count())
    );
  }
  Result<void> resume(const PoolName& pool) override { return note(pool, "resume"); }
  Result<void> restart(const PoolName& pool) override { return note(pool, "restart"); }
  Result<void> drain_worker(const std::string& id) override { return note({id, ""}, "drain"); }
  Result<void> kill_worker(const std::string& id) override { return note({id, ""}, "kill"); }
  Result<void> stop(std::optional<Milliseconds> deadline) override {
    return note({}, "stop " + std::to_string(deadline.value_or(-1ms).count()));
  }

  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex);
    change(view);
  }
  std::string last() const {
    const std::lock_guard lock(mutex);
    return last_order;
  }

  mutable std::mutex mutex;
  Snapshot view;
  std::string last_order;

 private:
  Result<void> note(const PoolName& pool, const std::string& order) {
    if (pool.step_slug == "b")
      return tl::unexpected(Error{"pool_unknown", "There is no pool f/b."});
    if (pool.flow_slug == "x") {
      return tl::unexpected(Error{"order_refused", "Not now.", "It stops.", "Wait."});
    }
    const std::lock_guard lock(mutex);
    last_order = order + " of " + pool.flow_slug + "/" + pool.step_slug;
    return {};
  }
};

// A room whose loop runs on a thread of its own.
class Rig {
 public:
  explicit Rig(settings::HealthSettings health = {}, unsigned mode = 0600) {
    settings_.control = {.socket = socket(), .mode = mode};
    settings_.health = std::move(health);
    std::promise<std::string> opened;
    thread_ = std::thread([this, &opened] {
      uv::Loop loop;
      Metrics metrics;
      ControlRoom room(loop, orders, settings_, metrics);
      uv::Mailbox<std::function<void()>> mailbox(loop, [](auto calls) {
        for (const auto& call : calls) call();
      });
      on_loop = [&mailbox](std::function<void()> call) { mailbox.post(std::move(call)); };
      stop_loop = [&loop] { loop.stop(); };
      changed = [&room] { room.changed(); };
      said = [&room](WorkerLine line) { room.said(std::move(line)); };
      const auto result = room.open();
      port = room.port();
      opened.set_value(result ? "" : result.error().text());
      if (result) loop.run();
    });
    const std::string problem = opened.get_future().get();
    if (!problem.empty()) thread_.join();
    REQUIRE(problem.empty());
  }
  ~Rig() {
    if (!thread_.joinable()) return;
    on_loop(stop_loop);
    thread_.join();
  }
  // Somebody else stops the loop.
  void finish() { thread_.join(); }

  std::string socket() const { return folder_.path() + "/control.sock"; }

  HttpReply ask(const HttpQuestion& question) const {
    auto connection = connect_to(socket());
    REQUIRE(connection);
    return answer(std::move(*connection), question);
  }
  HttpReply ask_tcp(const HttpQuestion& question) const { return answer(connect_tcp(), question); }
  UniqueFd connect_tcp() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return fd;
  }

  FakeOrders orders;
  int port = 0;
  std::function<void(std::function<void()>)> on_loop;
  std::function<void()> stop_loop;
  std::function<void()> changed;  // on_loop only, as the next
  std::function<void(WorkerLine)> said;

 private:
  static HttpReply answer(UniqueFd connection, const HttpQuestion& question) {
    auto reply = supervisor::ask(std::move(connection), question, 10s);
    REQUIRE(reply);
    return *reply;
  }

  test::TemporaryFolder folder_;
  settings::SupervisorSettings settings_;
  std::thread thread_;
};

HttpQuestion order(std::string path, std::string body = "") {
  return {.method = "POST", .path = std::move(path), .body = std::move(body)};
}

ProblemDocument problem_of(const HttpReply& reply) {
  return from_json<ProblemDocument>(reply.body);
}

std::string header(const HttpReply& reply, const std::string& name) {
  for (const auto& [known, value] : reply.headers) {
    if (known == name) return value;
  }
  return "";
}

}  // namespace

// --- what is seen

TEST_CASE("the status is the snapshot, on both of its paths", "[control]") {
  const Rig rig;
  for (const char* path : {"/v1/status", "/status"}) {
    const HttpReply reply = rig.ask({.path = path});
    CHECK(reply.status == 200);
    const auto status = from_json<StatusDocument>(reply.body);
    CHECK(status.name == "test");
    CHECK(status.phase == "running");
    REQUIRE(status.pools.size() == 2);
    CHECK(status.pools[0].step == "a");
    CHECK(status.pools[0].ready == 1);
    CHECK(status.pools[0].slots[0].worker_id == "w1");
    CHECK_FALSE(status.pools[1].step);
  }
}

TEST_CASE("bytes that are no text do not hide the status", "[control]") {
  Rig rig;
  rig.orders.change([](Snapshot& view) { view.pools[0].reason = std::string("\xff\0x", 3); });
  const auto status = from_json<StatusDocument>(rig.ask({.path = "/v1/status"}).body);
  CHECK(status.pools[0].reason == "\uFFFDx");
}

TEST_CASE("probes say 200 or 503, and each check in its own line", "[control]") {
  Rig rig;
  CHECK(rig.ask({.path = "/livez"}).body == "ok\n");
  CHECK(rig.ask({.path = "/startupz"}).status == 200);
  CHECK(
      rig.ask({.path = "/readyz?verbose"}).body ==
      "[+]running ok\n[+]database ok\n[+]pool f/a ok\n[+]pool g ok\nreadyz check passed\n"
  );
  rig.orders.change([](Snapshot& view) {
    view.database_up = false;
    view.database_error = "connection refused";
    view.database_for = 11s;
    view.pools[0].state = PoolState::paused;
    view.pools[1].slots[0].state = SlotState::backoff;
    view.was_ready = false;
  });
  const HttpReply not_ready = rig.ask({.path = "/readyz"});
  CHECK(not_ready.status == 503);
  CHECK(
      not_ready.body ==
      "[+]running ok\n[-]database failed: connection refused\n[+]pool f/a ok: paused\n"
      "[-]pool g failed: no worker is ready\nreadyz check failed\n"
  );
  CHECK(rig.ask({.path = "/startupz"}).status == 503);
  CHECK(rig.ask({.path = "/livez"}).status == 200);
}

TEST_CASE("a database that is away for a moment leaves the supervisor ready", "[control]") {
  Snapshot view = running();
  view.database_for = 9s;
  CHECK(all_ok(readiness_checks(view)));
  view.database_for = 10s;
  CHECK_FALSE(all_ok(readiness_checks(view)));
}

TEST_CASE("fenced pools are excused, unless all are", "[control]") {
  Snapshot view = running();
  view.database_up = true;
  view.pools = {pool_in(PoolState::fenced), pool_in(PoolState::zero)};
  CHECK(all_ok(readiness_checks(view)));
  view.pools.pop_back();
  CHECK_FALSE(all_ok(readiness_checks(view)));
}

TEST_CASE(
    "a loop that stands still makes /livez say so, and nothing else waits for it", "[control]"
) {
  Rig rig;
  std::promise<void> let_go;
  rig.on_loop([&let_go] { let_go.get_future().wait(); });
  eventually("/livez is 503", 8s, [&] { return rig.ask({.path = "/livez"}).status == 503; });
  CHECK(rig.ask({.path = "/nothing"}).status == 404);
  let_go.set_value();
  eventually("/livez is 200", 3s, [&] { return rig.ask({.path = "/livez"}).status == 200; });
}

TEST_CASE("who still waits when the room closes gets an answer", "[control]") {
  auto rig = std::make_unique<Rig>();
  std::promise<void> let_go;
  rig->on_loop([&let_go] { let_go.get_future().wait(); });
  auto waiting = connect_to(rig->socket());
  REQUIRE(waiting);
  const std::string question = "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
  REQUIRE(write(waiting->get(), question.data(), question.size()) > 0);
  CHECK(rig->ask({.path = "/livez"}).status == 200);
  auto closing = std::async(std::launch::async, [&] { rig.reset(); });
  let_go.set_value();
  closing.get();
  char answer[64] = {};
  REQUIRE(read(waiting->get(), answer, sizeof answer - 1) > 0);
  CHECK(std::string(answer).starts_with("HTTP/1.1 "));
}

TEST_CASE("events tell what changed, to who asks and to who follows", "[control]") {
  Rig rig;
  UniqueFd following = *connect_to(rig.socket());
  const std::string question = "GET /v1/events?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
  REQUIRE(write(following.get(), question.data(), question.size()) > 0);
  std::string heard;
  const auto hears = [&](const std::string& text) {
    eventually("the follower hears " + text, 5s, [&] {
      char buffer[4096];
      const ssize_t size = recv(following.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size > 0) heard.append(buffer, static_cast<std::size_t>(size));
      return heard.find(text) != std::string::npos;
    });
  };
  hears(": here");
  CHECK(heard.find("text/event-stream") != std::string::npos);
  rig.on_loop(rig.changed);
  hears("event: slot\ndata: {\"flow\":\"f\",\"step\":\"a\",\"slot\":1,\"state\":\"ready\"");
  rig.orders.change([](Snapshot& view) {
    view.pools[0].slots[0].state = SlotState::backoff;
    ExitView& exit = view.exits.emplace_back();
    exit.worker_id = "w1";
    exit.signal = 9;
    exit.last_output = {"famous last words"};
  });
  rig.on_loop(rig.changed);
  hears("event: exit\ndata: {");
  hears("\"signal\":\"SIGKILL\"");
  const auto events = from_json<EventsDocument>(rig.ask({.path = "/v1/events"}).body).events;
  REQUIRE_FALSE(events.empty());
  CHECK(events.front().event == "phase");
  CHECK(events.back().event == "slot");
  CHECK(events.back().id == static_cast<std::int64_t>(events.size()));
  const std::string exits = rig.ask({.path = "/v1/exits"}).body;
  CHECK(from_json<ExitsDocument>(exits).exits.size() == 1);
  CHECK(exits.find("famous last words") != std::string::npos);
  CHECK(heard.find("famous last words") == std::string::npos);
}

TEST_CASE("the workers' lines are kept for who asks, and told to who follows", "[control]") {
  Rig rig;
  const auto say = [&](const std::string& step, const std::string& worker, const std::string& text
                   ) {
    rig.on_loop(
        [&rig,
         line =
             WorkerLine{
                 .flow_slug = "f", .step_slug = step, .slot = 1, .worker_id = worker, .text = text
             }] { rig.said(line); }
    );
  };
  const auto texts = [&](const std::string& query) {
    std::vector<std::string> found;
    for (const auto& line :
         from_json<LogsDocument>(rig.ask({.path = "/v1/logs?" + query}).body).lines) {
      found.push_back(line.text);
    }
    return found;
  };
  using Texts = std::vector<std::string>;
  say("a", "11aa", "one");
  say("b", "22bb", "two");
  say("a", "33cc", "three");
  CHECK(texts("") == Texts{"one", "two", "three"});
  CHECK(texts("lines=2") == Texts{"two", "three"});
  CHECK(texts("flow=f&step=a") == Texts{"one", "three"});
  CHECK(texts("flow=g").empty());
  CHECK(texts("worker=22") == Texts{"two"});

  std::string heard;
  bool begins = true;
  std::thread follower([&] {
    static_cast<void>(follow(
        *connect_to(rig.socket()),
        {.path = "/v1/logs?step=a&lines=1&follow=1"},
        [&](std::string_view text) {
          if (std::exchange(begins, false)) {
            say("b", "22bb", "not for it");
            say("a", "11aa", "last");
          }
          heard += text;
          if (heard.find("last\"}\n\n") != std::string::npos) rig.on_loop(rig.stop_loop);
        }
    ));
  });
  rig.finish();
  follower.join();
  CHECK(heard.find("\"text\":\"three\"") != std::string::npos);
  CHECK(heard.find("\"text\":\"last\"") != std::string::npos);
  CHECK(heard.find("one") == std::string::npos);
  CHECK(heard.find("not for it") == std::string::npos);
}

TEST_CASE("of many lines the last 2,000 are kept, and no more than 1 MiB", "[control]") {
  LogFeed feed;
  for (int i = 1; i <= 2'500; ++i) feed.say({.text = std::to_string(i)});
  CHECK(feed.last({}, 10'000).lines.size() == 2'000);
  CHECK(feed.last({}, 10'000).lines.front().text == "501");
  CHECK(feed.last({}, 10'000, 2'499).lines.size() == 1);
  for (int i = 0; i < 100; ++i) feed.say({.text = std::string(64 * 1024, 'x')});
  CHECK(feed.last({}, 10'000).lines.size() == 16);
}

// --- orders

TEST_CASE("an order reaches the supervisor and answers with its pools", "[control]") {
  const Rig rig;
  const auto [path, body, done] = GENERATE(table<std::string, std::string, std::string>({
      {"/v1/pools/f/a/scale", R"({"processes":3,"ttl":"5m"})", "scale 3 -1 300000 of f/a"},
      {"/v1/pools/f/a/scale", R"({"max_concurrent":2})", "scale -1 2 -1 of f/a"},
      {"/v1/pools/f/a/pause", R"({"reason":"tea","deadline":"1m"})", "pause tea 60000 of f/a"},
      {"/v1/pools/f/a/resume", "", "resume of f/a"},
      {"/v1/pools/f/a/restart", "{}", "restart of f/a"},
      {"/v1/flows/f/restart", "", "restart of f/"},
      {"/v1/workers/w1/drain", "", "drain of w1/"},
      {"/v1/workers/w1/kill", "", "kill of w1/"},
  }));
  CAPTURE(path);
  const HttpReply reply = rig.ask(order(path, body));
  CHECK(reply.status == 202);
  CHECK(rig.orders.last() == done);
  const auto view = from_json<OrderDocument>(reply.body);
  REQUIRE(view.pools.size() == 1);
  CHECK(view.pools[0].step == "a");
}

TEST_CASE("a scale is reset, a supervisor stopped", "[control]") {
  const Rig rig;
  CHECK(rig.ask({.method = "DELETE", .path = "/v1/flows/g/scale"}).status == 202);
  CHECK(rig.orders.last() == "reset of g/");
  CHECK(rig.ask(order("/v1/stop", R"({"deadline":"0s"})")).status == 202);
  CHECK(rig.orders.last() == "stop 0 of /");
}

TEST_CASE(
    "a wrong body is told with a pointer to each mistake, and nothing is ordered", "[control]"
) {
  const Rig rig;
  const HttpReply reply =
      rig.ask(order("/v1/pools/f/a/scale", R"({"proceses": 2, "max_concurrent": 0, "a/b~": 1})"));
  CHECK(reply.status == 400);
  CHECK(header(reply, "Content-Type") == "application/problem+json");
  const auto problem = problem_of(reply);
  CHECK(problem.type == "urn:pgflow:body_invalid");
  REQUIRE(problem.errors.size() == 3);
  CHECK(problem.errors[0].pointer == "/proceses");
  CHECK(problem.errors[0].hint == "Did you mean \"processes\"?");
  CHECK(problem.errors[1].pointer == "/max_concurrent");
  CHECK(problem.errors[1].detail == "must be an integer from 1 to 10000, got 0");
  CHECK(problem.errors[2].pointer == "/a~1b~0");
  CHECK(rig.ask(order("/v1/pools/f/a/scale", "{")).status == 400);
  CHECK(rig.ask(order("/v1/pools/f/a/scale", "[]")).status == 400);
  CHECK(rig.ask(order("/v1/pools/f/a/resume", R"({"reason":"x"})")).status == 400);
  CHECK(rig.orders.last().empty());
}

TEST_CASE("a body that is too long is 413, one that is no JSON 415", "[control]") {
  const Rig rig;
  CHECK(rig.ask(order("/v1/pools/f/a/pause", std::string(70'000, ' '))).status == 413);
  auto connection = connect_to(rig.socket());
  const std::string text =
      "POST /v1/stop HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}";
  REQUIRE(write(connection->get(), text.data(), text.size()) > 0);
  std::string heard;
  eventually("an answer", 5s, [&] {
    char buffer[4096];
    const ssize_t size = recv(connection->get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size > 0) heard.append(buffer, static_cast<std::size_t>(size));
    return heard.find("415") != std::string::npos;
  });
  CHECK(rig.orders.last().empty());
}

TEST_CASE("a request with two lengths, or that is none, is 400 and no order", "[control]") {
  const Rig rig;
  const std::vector<std::string> texts{
      "POST /v1/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      "POST /v1/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: two\r\n\r\n{}",
      "\x16\x03\x01 garbage\r\n\r\n",
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    auto connection = connect_to(rig.socket());
    REQUIRE(write(connection->get(), text.data(), text.size()) > 0);
    std::string heard;
    eventually("an answer, and the end of the connection", 5s, [&] {
      char buffer[4096];
      const ssize_t size = recv(connection->get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size > 0) heard.append(buffer, static_cast<std::size_t>(size));
      return size == 0 || (size < 0 && errno == ECONNRESET);
    });
    CHECK((heard.empty() || heard.starts_with("HTTP/1.1 400") || heard.starts_with("HTTP/1.0 400"))
    );
  }
  CHECK(rig.orders.last().empty());
  CHECK(rig.ask({.path = "/v1/status"}).status == 200);
}

TEST_CASE("unknown names are 404 with what was perhaps meant, a refusal is 409", "[control]") {
  const Rig rig;
  const HttpReply pool = rig.ask(order("/v1/pools/f/b/resume"));
  CHECK(pool.status == 404);
  CHECK(problem_of(pool).title == "There is no pool f/b.");
  CHECK(problem_of(pool).hint == "Did you mean \"f/a\"?");
  const HttpReply refused = rig.ask(order("/v1/workers/x/kill"));
  CHECK(refused.status == 409);
  CHECK(problem_of(refused).hint == "Wait.");
  const HttpReply path = rig.ask({.path = "/v1/statsu"});
  CHECK(path.status == 404);
  CHECK(problem_of(path).hint == "Did you mean /v1/status?");
  CHECK(
      problem_of(rig.ask(order("/v1/pools/f/a/puase"))).hint == "Did you mean /v1/pools/f/a/pause?"
  );
  const HttpReply method = rig.ask(order("/v1/status"));
  CHECK(method.status == 405);
  CHECK(header(method, "Allow") == "GET");
  CHECK(header(rig.ask({.path = "/v1/pools/f/a/scale"}), "Allow") == "POST, DELETE");
}

// --- doors

TEST_CASE("the socket has the mode that was asked for, and leaves with the room", "[control]") {
  std::string path;
  {
    const Rig rig({}, 0660);
    path = rig.socket();
    struct stat file{};
    REQUIRE(stat(path.c_str(), &file) == 0);
    CHECK((file.st_mode & 0777U) == 0660U);
    CHECK(rig.port == 0);
  }
  CHECK(access(path.c_str(), F_OK) != 0);
}

TEST_CASE("the socket lets in its owner, root and whom the mode lets in", "[control]") {
  const auto refused = [](unsigned mode, Peer peer) {
    HttpRequest request;
    request.peer = std::move(peer);
    return SocketKeeper(mode, 100, 50).refuse(request, nullptr).has_value();
  };
  CHECK_FALSE(refused(0600, {.uid = 0, .pid = 1, .groups = {}}));
  CHECK_FALSE(refused(0600, {.uid = 100, .pid = 1, .groups = {}}));
  CHECK(refused(0600, {.uid = 101, .pid = 1, .groups = {50}}));
  CHECK_FALSE(refused(0660, {.uid = 101, .pid = 1, .groups = {7, 50}}));
  CHECK(refused(0660, {.uid = 101, .pid = 1, .groups = {7}}));
  CHECK_FALSE(refused(0666, {.uid = 101, .pid = 1, .groups = {7}}));
}

TEST_CASE("TCP without a token reads and takes no order", "[control]") {
  Rig rig({.listen = "127.0.0.1:0", .token = "", .hosts = {}});
  rig.orders.change([](Snapshot& view) {
    ExitView& exit = view.exits.emplace_back();
    exit.last_output = {"famous last words"};
    view.pools[0].slots[0].last_exit = exit;
  });
  for (const std::string path : {"/status", "/v1/status", "/v1/exits"}) {
    CHECK(rig.ask({.path = path}).body.find("famous last words") != std::string::npos);
    CHECK(rig.ask_tcp({.path = path}).body.find("famous last words") == std::string::npos);
  }
  CHECK(rig.ask_tcp({.path = "/livez"}).status == 200);
  CHECK(rig.ask_tcp({.path = "/v1/status"}).status == 200);
  // What handlers write may be anything.
  for (const std::string path : {"/v1/logs", "/v1/logs?follow=1"}) {
    const HttpReply logs = rig.ask_tcp({.path = path});
    CHECK(logs.status == 403);
    CHECK(problem_of(logs).type == "urn:pgflow:read_only");
  }
  const HttpReply refused = rig.ask_tcp(order("/v1/pools/f/a/resume"));
  CHECK(refused.status == 403);
  CHECK(problem_of(refused).type == "urn:pgflow:read_only");
  CHECK(rig.orders.last().empty());
}

TEST_CASE("TCP with a token wants it for everything but the probes", "[control]") {
  const Rig rig({.listen = "127.0.0.1:0", .token = "secret", .hosts = {}});
  CHECK(rig.ask_tcp({.path = "/readyz"}).status == 200);
  const HttpReply none = rig.ask_tcp({.path = "/v1/status"});
  CHECK(none.status == 401);
  CHECK(header(none, "WWW-Authenticate") == "Bearer");
  // The scheme has no case (RFC 9110, 11.1), the token has.
  for (const std::string token : {"Bearer secret", "bearer secret", "BEARER secret"}) {
    CAPTURE(token);
    CHECK(rig.ask_tcp({.path = "/v1/status", .headers = {{"Authorization", token}}}).status == 200);
  }
  for (const std::string token :
       {"Bearer secre", "Bearer secrett", "Bearer ", "secret", "Bearer SECRET", "Bearersecret"}) {
    CAPTURE(token);
    CHECK(rig.ask_tcp({.path = "/v1/status", .headers = {{"Authorization", token}}}).status == 401);
  }
  auto resume = order("/v1/pools/f/a/resume");
  resume.headers = {{"Authorization", "Bearer secret"}};
  CHECK(rig.ask_tcp(resume).status == 202);
  CHECK(rig.orders.last() == "resume of f/a");
}

TEST_CASE("TCP refuses a foreign name and a foreign page", "[control]") {
  const Rig rig({.listen = "127.0.0.1:0", .token = "", .hosts = {"pgflow.internal"}});
  const auto status = [&](std::vector<std::pair<std::string, std::string>> headers) {
    return rig.ask_tcp({.path = "/v1/status", .headers = std::move(headers)}).status;
  };
  CHECK(status({{"Host", "evil.example"}}) == 403);
  CHECK(status({{"Host", ""}}) == 403);
  CHECK(status({{"Host", "PGFLOW.internal:9464"}}) == 200);
  CHECK(status({{"Host", "10.1.2.3:9464"}}) == 200);
  CHECK(status({{"Host", "[::1]:9464"}}) == 200);
  CHECK(status({{"Host", "localhost"}, {"Origin", "http://localhost"}}) == 200);
  CHECK(status({{"Host", "localhost"}, {"Origin", "https://evil.example"}}) == 403);
  CHECK(status({{"Host", "localhost"}, {"Origin", "null"}}) == 403);
}

TEST_CASE("a socket that somebody removed is made again", "[control]") {
  const Rig rig;
  REQUIRE(rig.ask({.path = "/v1/status"}).status == 200);
  std::filesystem::remove(rig.socket());
  eventually("it is back", 5s, [&] { return std::filesystem::exists(rig.socket()); });
  CHECK(rig.ask({.path = "/v1/status"}).status == 200);
}

TEST_CASE("a folder that was moved away can be moved back", "[control]") {
  const Rig rig;
  const std::filesystem::path folder = std::filesystem::path(rig.socket()).parent_path();
  const std::filesystem::path elsewhere = folder.string() + ".moved";
  std::filesystem::rename(folder, elsewhere);
  const auto looked = std::chrono::steady_clock::now() + 1500ms;  // it looks every second
  eventually("it has looked", 5s, [&] { return std::chrono::steady_clock::now() > looked; });
  REQUIRE_FALSE(std::filesystem::exists(folder));
  std::filesystem::rename(elsewhere, folder);
  CHECK(rig.ask({.path = "/v1/status"}).status == 200);
}

TEST_CASE("what somebody put in the socket's place stays", "[control]") {
  const Rig rig;
  std::ofstream(rig.socket() + ".new") << "mine";
  std::filesystem::rename(rig.socket() + ".new", rig.socket());
  const auto looked = std::chrono::steady_clock::now() + 1500ms;  // it looks every second
  eventually("it has looked", 5s, [&] { return std::chrono::steady_clock::now() > looked; });
  CHECK(test::read_file(rig.socket()) == "mine");
}

TEST_CASE("a socket's path may be longer than the kernel takes", "[control]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path =
      folder.path() / std::filesystem::path(std::string(150, 'd')) / "control.sock";
  const auto door = listen_at(path, 0600);
  REQUIRE(door);
  CHECK(std::filesystem::is_socket(path));
  CHECK(connect_to(path));
  CHECK_FALSE(connect_to(path.parent_path() / "other.sock"));
  CHECK_FALSE(connect_to(std::filesystem::path("/nowhere") / std::string(150, 'd') / "x.sock"));
}

TEST_CASE("what lies in the socket's place and is no socket stays", "[control]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/control.sock";
  std::ofstream(path) << "mine";
  CHECK_FALSE(listen_at(std::filesystem::path(path), 0600));
  CHECK(test::read_file(path) == "mine");
}

TEST_CASE("a socket that somebody serves stays, one that nobody serves is replaced", "[control]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() + "/control.sock";
  auto first = listen_at(path, 0600);
  REQUIRE(first);
  const auto second = listen_at(path, 0600);
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == "locked");
  first->reset();
  CHECK(listen_at(path, 0600));
}

TEST_CASE("the OpenAPI file in docs/ is the one of the routes", "[control][golden]") {
  const std::string file = PGFLOW_SOURCE_DIR "/docs/openapi.json";
  const char* golden = std::getenv("PGFLOW_GOLDEN");
  if (golden != nullptr && std::string(golden) == "write") std::ofstream(file) << openapi();
  CHECK(test::read_file(file) == openapi());
  for (const Route& route : routes()) {
    CAPTURE(route.path);
    CHECK(openapi().find("\"" + std::string(route.path) + "\"") != std::string::npos);
  }
}

// --- metrics

namespace {

// Everything counted once.
std::string all_metrics() {
  Metrics metrics;
  metrics.worker_started("f", "a");
  metrics.worker_exited("f", "a", "hung");
  metrics.tasks_ended("f", "a", "failed", std::vector<std::int64_t>{20});
  metrics.released(3s);
  metrics.database_connected();
  metrics.database_connected();
  metrics.loop_late(1ms);
  metrics.answered("/v1/status", 200);
  metrics.answered("", 404);
  QueueSample sample;
  sample.flow_slug = "f";
  sample.step_slug = "a";
  sample.queue_name = "f__a";
  sample.ready = 3;
  metrics.sampled({sample});
  Snapshot view = running();
  view.pools = {pool("f", "a", "w1"), pool("g", "", "w2")};
  return metrics.text(view);
}

}  // namespace

TEST_CASE("every sample has its family's help and type before it, and stands once", "[control]") {
  std::istringstream text(all_metrics());
  std::set<std::string> families, samples;
  std::string family;
  for (std::string line; std::getline(text, line);) {
    CAPTURE(line);
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(families.insert(family).second);
    } else if (line.starts_with("# TYPE ")) {
      CHECK(line.substr(7, family.size() + 1) == family + " ");
    } else {
      const auto space = line.rfind(' ');
      REQUIRE(space != std::string::npos);
      CHECK(line.starts_with(family));
      CHECK(samples.insert(line.substr(0, space)).second);
      CHECK_NOTHROW(std::stod(line.substr(space + 1)));
    }
  }
  for (const std::string sample :
       {R"(pgflow_db_reconnects_total)",
        R"(pgflow_watchdog_kills_total{flow="f",step="a"})",
        R"(pgflow_workers{flow="g",state="ready",step=""})",
        R"(pgflow_http_requests_total{code="404",route="none"})",
        R"(pgflow_queue_ready_messages{flow="f",queue="f__a",step="a"})"}) {
    CAPTURE(sample);
    CHECK(samples.contains(sample));
  }
}

TEST_CASE("what the alert rules ask for is told", "[control]") {
  const std::string text = all_metrics();
  const std::string alerts = test::read_file(PGFLOW_SOURCE_DIR "/config/alerts.yml");
  REQUIRE_FALSE(alerts.empty());
  for (auto at = alerts.find("pgflow_"); at != std::string::npos; at = alerts.find("pgflow_", at)) {
    const auto end = alerts.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at);
    const std::string metric = alerts.substr(at, end - at);
    CAPTURE(metric);
    CHECK(text.find("# TYPE " + metric + " ") != std::string::npos);
    at = end;
  }
}
