#include "supervisor/control/control_room.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/did_you_mean.hpp"
#include "log/log.hpp"
#include "supervisor/control/documents.hpp"
#include "supervisor/control/health.hpp"
#include "supervisor/control/listening.hpp"
#include "supervisor/control/problem.hpp"
#include "supervisor/control/routes.hpp"

namespace pgflow::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 1s;
constexpr auto kAlive = 5s;        // a loop that ticked within this time
constexpr auto kTogether = 100ms;  // changes within it are shown as one
constexpr auto kKeepAlive = 15s;   // less than any proxy's idle time-out
constexpr std::size_t kLinesUnlessTold = 100;
constexpr std::size_t kLongestLogged = 300;  // of an order's body

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kPrometheus = "text/plain; version=0.0.4; charset=utf-8";

template <class T>
HttpAnswer document(const T& value, int status = 200) {
  return {.status = status, .body = to_json(value) + "\n"};
}

HttpAnswer probe(
    const std::vector<Check>& checks, std::string_view name, const HttpRequest& request
) {
  const bool ok = all_ok(checks);
  const bool verbose = request.parameter("verbose").has_value() || !ok;
  return {
      .status = ok ? 200 : 503,
      .content_type = std::string(kText),
      .body = verbose ? verbose_text(checks, name) : "ok\n",
  };
}

HttpAnswer no_such_path(const HttpRequest& request, const Match& match) {
  if (match.allowed.empty()) {
    return problem(
        404,
        {"path_unknown",
         fmt::format("There is no {}.", request.path),
         "",
         match.guess.empty() ? "GET /v1/openapi.json lists what there is."
                             : fmt::format("Did you mean {}?", match.guess)}
    );
  }
  std::string allowed;
  for (const std::string_view method : match.allowed) {
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", method);
  }
  HttpAnswer answer = problem(
      405,
      {"method_unknown",
       fmt::format("{} cannot be asked with {}.", request.path, request.method),
       "",
       fmt::format("Use {}.", allowed)}
  );
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

std::optional<HttpAnswer> wrong_body(const HttpRequest& request) {
  if (request.body_too_large) {
    return problem(413, {"body_too_large", "The body of the request is longer than 64 KiB."});
  }
  if (!request.body.empty() && !request.header("Content-Type").starts_with("application/json")) {
    return problem(
        415,
        {"body_not_json",
         "The body of an order is JSON.",
         fmt::format("Its type is \"{}\".", request.header("Content-Type")),
         "Send the header Content-Type: application/json."}
    );
  }
  return std::nullopt;
}

// Who gave an order, for the log.
std::string who(const HttpRequest& request) {
  if (!request.peer) return "token";
  return fmt::format("uid {} pid {}", request.peer->uid, request.peer->pid);
}

// Which file lies there, if any.
std::optional<std::pair<dev_t, ino_t>> file_at(const std::filesystem::path& path) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) return std::nullopt;
  return std::pair(file.st_dev, file.st_ino);
}

PoolName pool_of(const Match& match) {
  return {match.parameter("flow"), match.parameter("step")};
}

LogChoice choice_of(const HttpRequest& request) {
  const auto parameter = [&](std::string_view name) {
    return std::string(request.parameter(name).value_or(""));
  };
  return {parameter("flow"), parameter("step"), parameter("worker")};
}

std::size_t lines_wanted(const HttpRequest& request) {
  std::size_t most = kLinesUnlessTold;
  const std::string_view text = request.parameter("lines").value_or("");
  std::from_chars(text.data(), text.data() + text.size(), most);
  return most;
}

bool is_about(const PoolView& pool, const Match& match) {
  const std::string worker_id = match.parameter("id");
  if (!worker_id.empty()) {
    return std::ranges::any_of(pool.slots, [&](const SlotView& slot) {
      return slot.worker_id == worker_id;
    });
  }
  const PoolName name = pool_of(match);
  return (name.flow_slug.empty() || name.flow_slug == pool.flow_slug) &&
         (name.step_slug.empty() || name.step_slug == pool.step_slug);
}

}  // namespace

ControlRoom::ControlRoom(
    uv::Loop& loop, Orders& orders, const settings::SupervisorSettings& settings, Metrics& metrics
)
    : orders_(orders),
      settings_(settings),
      metrics_(metrics),
      ticked_at_(SteadyClock::now()),
      tick_timer_(loop, [this] { tick(); }),
      change_timer_(loop, [this] { look_around(); }),
      keep_alive_timer_(
          loop,
          [this] {
            events_.keep_alive();
            logs_.keep_alive();
          }
      ),
      mailbox_(loop, [this](std::vector<std::shared_ptr<HttpExchange>> asked) {
        for (const auto& exchange : asked) answer(*exchange);
      }) {}

ControlRoom::~ControlRoom() {
  if (socket_file_ && socket_file_ == file_at(settings_.control.socket))
    ::unlink(settings_.control.socket.c_str());
  socket_door_.close();
  tcp_door_.close();
  mailbox_.close();
}

Result<void> ControlRoom::open() {
  if (auto opened = open_socket(); !opened) return opened;
  if (auto opened = open_tcp(); !opened) return opened;
  tick_timer_.start(kTick, kTick);
  keep_alive_timer_.start(kKeepAlive, kKeepAlive);
  return {};
}

Result<void> ControlRoom::open_socket() {
  const auto& control = settings_.control;
  auto listening = listen_at(control.socket, control.mode);
  if (!listening) return tl::unexpected(listening.error());
  struct stat file{};
  ::stat(control.socket.c_str(), &file);
  auto opened = door(
      std::move(*listening), std::make_unique<SocketKeeper>(control.mode, geteuid(), file.st_gid)
  );
  if (!opened) {
    ::unlink(control.socket.c_str());
    return tl::unexpected(opened.error());
  }
  socket_door_ = std::move(*opened);
  socket_file_ = file_at(control.socket);
  log::info("control.listening", {{"socket", control.socket.string()}});
  return {};
}

Result<void> ControlRoom::open_tcp() {
  const auto& health = settings_.health;
  if (health.listen.empty()) return {};
  auto listening = listen_at(health.listen);
  if (!listening) return tl::unexpected(listening.error());
  port_ = port_of(*listening);
  auto opened =
      door(std::move(*listening), std::make_unique<TcpKeeper>(health.token, health.hosts));
  if (!opened) return tl::unexpected(opened.error());
  tcp_door_ = std::move(*opened);
  log::info(
      "health.listening",
      {{"address", health.listen}, {"port", port_}, {"read_only", health.token.empty()}}
  );
  return {};
}

// A socket without its file is one that nobody can find: it is made again. What somebody has put
// there instead stays. A folder that is gone was perhaps moved: one made anew would be in its way.
void ControlRoom::watch_socket() {
  const std::filesystem::path& socket = settings_.control.socket;
  const auto file = file_at(socket);
  if (file && file == socket_file_) {
    told_lost_ = false;
    return;
  }
  std::error_code ignored;
  const bool has_folder = std::filesystem::exists(socket.parent_path(), ignored);
  if (!std::exchange(told_lost_, true)) {
    const std::string hint =
        has_folder ? std::string(
                         file ? "Remove what lies there; the socket is made again then."
                              : "It is made again."
                     )
                   : fmt::format(
                         "The folder {} is gone; put it back, or restart the supervisor.",
                         socket.parent_path().string()
                     );
    log::warn("control.socket_lost", {{"socket", socket.string()}, {"hint", hint}});
  }
  if (file || !has_folder) return;
  socket_door_.close();
  if (open_socket()) told_lost_ = false;
}

Result<ControlRoom::Door> ControlRoom::door(
    UniqueFd listening, std::unique_ptr<Doorkeeper> keeper
) {
  const Doorkeeper& its = *keeper;
  auto server = HttpServer::start(
      std::move(listening),
      HttpServer::Handlers{
          .at_once = [this,
                      &its](const HttpRequest& request) { return answer_at_once(request, its); },
          .on_request = [this](std::shared_ptr<HttpExchange> exchange
                        ) { mailbox_.post(std::move(exchange)); },
      }
  );
  if (!server) return tl::unexpected(server.error());
  return Door{std::move(keeper), std::move(*server)};
}

void ControlRoom::changed() {
  if (!change_timer_.is_running()) change_timer_.start(kTogether);
}

// --- a door's thread

std::optional<HttpAnswer> ControlRoom::answer_at_once(
    const HttpRequest& request, const Doorkeeper& keeper
) {
  const Match found = match(request.method, request.path);
  std::optional<HttpAnswer> answer = keeper.refuse(request, found.route);
  if (!answer && found.route == nullptr) answer = no_such_path(request, found);
  if (!answer && found.route->operation == Operation::livez) answer = livez(request);
  if (!answer && found.route->is_order()) answer = wrong_body(request);
  if (answer) metrics_.answered(found.route == nullptr ? "" : found.route->path, answer->status);
  return answer;
}

HttpAnswer ControlRoom::livez(const HttpRequest& request) const {
  const auto now = SteadyClock::now();
  const bool alive = now - ticked_at_.load() < kAlive;
  const bool overdue = now > stop_due_at_.load();
  return probe(
      {{"loop", alive, alive ? "" : "the supervisor's loop stands still"},
       {"stop", !overdue, overdue ? "the stop takes longer than it may" : ""}},
      "livez",
      request
  );
}

// --- the loop's thread

void ControlRoom::tick() {
  const auto now = SteadyClock::now();
  metrics_.loop_late(now - ticked_at_.load() - kTick);
  ticked_at_ = now;
  watch_socket();
}

void ControlRoom::look_around() {
  Snapshot now = orders_.snapshot();
  if (now.phase == Phase::stopping && stop_due_at_.load() == SteadyClock::time_point::max()) {
    stop_due_at_ = SteadyClock::now() + settings_.shutdown_deadline + settings_.kill_margin;
  }
  events_.show(std::move(now));
}

void ControlRoom::answer(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request();
  const Match found = match(request.method, request.path);
  if (found.route->operation == Operation::events && request.parameter("follow")) {
    metrics_.answered(found.route->path, 200);
    return follow(exchange);
  }
  if (found.route->operation == Operation::logs && request.parameter("follow")) {
    metrics_.answered(found.route->path, 200);
    return follow_logs(exchange);
  }
  HttpAnswer answer =
      found.route->is_order() ? obey(found, request) : look(found.route->operation, request);
  metrics_.answered(found.route->path, answer.status);
  exchange.answer(std::move(answer));
}

void ControlRoom::follow(HttpExchange& exchange) {
  const std::string last(exchange.request().header("Last-Event-ID"));
  std::string text = ": here\n\n";
  if (!last.empty()) text += events_.text_after(std::atoll(last.c_str()));
  events_.follow(exchange.stream("text/event-stream", std::move(text)));
}

void ControlRoom::follow_logs(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request();
  const std::string last(request.header("Last-Event-ID"));
  LogChoice choice = choice_of(request);
  std::string text =
      ": here\n\n" + logs_.text_of_last(choice, lines_wanted(request), std::atoll(last.c_str()));
  logs_.follow(std::move(choice), exchange.stream("text/event-stream", std::move(text)));
}

// Whoever comes by TCP without a token does not hear what workers write: handlers say what they
// like.
Snapshot ControlRoom::shown_to(const HttpRequest& request) const {
  Snapshot now = orders_.snapshot();
  if (request.peer || !settings_.health.token.empty()) return now;
  for (ExitView& exit : now.exits) exit.last_output.clear();
  for (PoolView& pool : now.pools) {
    for (SlotView& slot : pool.slots) {
      if (slot.last_exit) slot.last_exit->last_output.clear();
    }
  }
  return now;
}

HttpAnswer ControlRoom::look(Operation operation, const HttpRequest& request) const {
  switch (operation) {
    case Operation::startupz:
      return probe(startup_checks(orders_.snapshot()), "startupz", request);
    case Operation::readyz:
      return probe(readiness_checks(orders_.snapshot()), "readyz", request);
    case Operation::metrics:
      return {.content_type = std::string(kPrometheus), .body = metrics_.text(orders_.snapshot())};
    case Operation::exits:
      return document(ExitsDocument{document_of(shown_to(request)).exits});
    case Operation::events:
      return document(events_.remembered());
    case Operation::logs:
      return document(logs_.last(choice_of(request), lines_wanted(request)));
    case Operation::openapi:
      return {.body = openapi()};
    default:
      return document(document_of(shown_to(request)));
  }
}

HttpAnswer ControlRoom::obey(const Match& match, const HttpRequest& request) {
  const auto body = read_order(*match.route, request.body);
  if (!body) return body.error();
  const Result<void> done = order(match.route->operation, match, *body);
  log::info(
      "control.order",
      {{"order", fmt::format("{} {}", request.method, request.path)},
       {"body", request.body.substr(0, kLongestLogged)},
       {"by", who(request)},
       {"accepted", done.has_value()}}
  );
  if (!done) return problem(explained(done.error(), match));
  const Snapshot now = orders_.snapshot();
  OrderDocument view{.phase = std::string(to_string(now.phase))};
  for (const PoolView& pool : now.pools) {
    if (is_about(pool, match)) view.pools.push_back(document_of(pool));
  }
  return document(view, 202);
}

Result<void> ControlRoom::order(Operation operation, const Match& match, const OrderBody& body) {
  const PoolName pool = pool_of(match);
  switch (operation) {
    case Operation::scale:
      return orders_.scale(pool, {body.processes, body.max_concurrent, body.ttl});
    case Operation::reset_scale:
      return orders_.reset_scale(pool);
    case Operation::pause:
      return orders_.pause(pool, {body.reason, body.deadline});
    case Operation::resume:
      return orders_.resume(pool);
    case Operation::restart:
      return orders_.restart(pool);
    case Operation::drain_worker:
      return orders_.drain_worker(match.parameter("id"));
    case Operation::kill_worker:
      return orders_.kill_worker(match.parameter("id"));
    default:
      return orders_.stop(body.deadline);
  }
}

// The pool that was perhaps meant.
Error ControlRoom::explained(Error error, const Match& match) const {
  if (error.kind != "pool_unknown" || !error.hint.empty()) return error;
  const PoolName given = pool_of(match);
  std::vector<std::string> known;
  for (const PoolView& pool : orders_.snapshot().pools) {
    known.push_back(
        given.step_slug.empty() ? pool.flow_slug
                                : fmt::format("{}/{}", pool.flow_slug, pool.step_slug)
    );
  }
  error.hint = did_you_mean_hint(
      given.step_slug.empty() ? given.flow_slug
                              : fmt::format("{}/{}", given.flow_slug, given.step_slug),
      known
  );
  if (error.hint.empty()) error.hint = fmt::format("There is {}.", fmt::join(known, ", "));
  return error;
}

}  // namespace pgflow::supervisor
