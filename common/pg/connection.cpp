// libpq's asynchronous calls, driven by readiness of its socket.
#include "pg/connection.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <netdb.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/bug.hpp"
#include "base/clock.hpp"
#include "log/log.hpp"
#include "uv/background.hpp"
#include "uv/poll.hpp"
#include "uv/timer.hpp"

namespace pgflow::pg {
namespace {

using Options = std::map<std::string, std::string>;

struct Endpoint {
  std::string host, port;
};

// Which of the hosts would make libpq ask the resolver, which blocks: none if addresses are given
// already.
std::vector<Endpoint> endpoints_of(const Options& options);
bool needs_resolver(const std::string& host);

// The options with each name replaced by its addresses, as parallel lists of host, hostaddr and
// port. A name that does not resolve is left out unless all are; then libpq gets the names and
// reports.
Options resolve(Options options, const std::vector<Endpoint>& endpoints);

Error error_of(const PGresult* result);

constexpr std::string_view kStatementExists = "42P05";
constexpr std::string_view kNoSuchStatement = "26000";

// One text, one name: whoever prepared it in a backend that a pooler lends us meant the same.
std::string statement_name(const Query& query) {
  return fmt::format("{}_{:016x}", query.name, std::hash<std::string_view>()(query.sql));
}
Error connect_error(std::string text, const Dsn& dsn);

// Ending a COPY would take as much code as doing it.
bool is_copy(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

}  // namespace

std::string_view name(ConnectionState state) {
  switch (state) {
    case ConnectionState::closed:
      return "closed";
    case ConnectionState::connecting:
      return "connecting";
    case ConnectionState::idle:
      return "idle";
    case ConnectionState::busy:
      return "busy";
    case ConnectionState::broken:
      return "broken";
  }
  return "broken";
}

// Loop thread only. Lives as long as a callback of it runs, even if its Connection is gone.
class Connection::World : public std::enable_shared_from_this<World> {
 public:
  World(uv::Loop& loop, ConnectionOptions given)
      : options(std::move(given)),
        loop_(loop),
        deadline_(loop, [this] { on_deadline(); }),
        later_(loop, [this] { answer_refused(); }) {}

  struct Request {
    std::string name, sql;
    std::optional<Params> params;  // none: a script
    std::chrono::milliseconds timeout;
    OnRows done;
    std::string statement{};  // the prepared one's name; empty: it is sent as text
  };

  void connect(OnConnected done);
  void enqueue(Request request);
  void cancel();
  void close();

  // Immutable.
  const ConnectionOptions options;

  std::function<void(Error)> lost_callback;
  std::function<void(std::string_view, std::string_view)> notified_callback;
  ConnectionState state = ConnectionState::closed;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection{nullptr, &PQfinish};

 private:
  Options connect_options() const;
  void start_connecting(const Options& connect_options);
  void continue_connecting();
  void connected();
  void connect_failed(Error error);

  void on_ready(uv::Ready ready);
  void send_next();
  int send(const Request& request);
  bool sends_again();
  void flush();
  void read_results();
  void take(PGresult* owned);
  void end_of_stream();
  void finish();
  void lose(Error error);
  void on_deadline();
  void answer_refused();

  void move_to(ConnectionState next);
  void watch_socket(bool readable, bool writable);
  void drop_connection();
  void read_notifications();
  Error lost_error(std::string why) const;
  static void on_notice(void* self, const PGresult* notice) noexcept;

  uv::Loop& loop_;
  uv::Timer deadline_;  // of connecting or of the running query
  uv::Timer later_;
  std::unique_ptr<uv::Poll> poll_;

  OnConnected connected_callback_;
  std::deque<Request> requests_;  // the first one runs when busy
  std::vector<OnRows> refused_;
  std::optional<Error> early_failure_;          // of a connect() that failed before it returned
  std::set<std::string> prepared_;              // statements, in this backend
  bool preparing_ = false;                      // what runs is the first request's preparation
  bool backends_change_ = false;                // a pooler: what was prepared may be elsewhere
  std::optional<Result<Rows>> running_result_;  // what the running query said so far
  std::string last_fatal_;                      // SQLSTATE of the server's last words
  unsigned attempts_ = 0;  // connect() calls; a resolver's answer to an older one is ignored
  unsigned closings_ = 0;  // close() calls; tells a caller of callbacks to forget the rest
};

Connection::Connection(uv::Loop& loop, ConnectionOptions options)
    : world_(std::make_shared<World>(loop, std::move(options))) {}

Connection::~Connection() {
  world_->close();
}

void Connection::connect(OnConnected done) {
  world_->connect(std::move(done));
}

void Connection::query(const Query& query, Params params, OnRows done) {
  world_->enqueue(
      {std::string(query.name),
       std::string(query.sql),
       std::move(params),
       query.timeout,
       std::move(done),
       query.prepared ? statement_name(query) : ""}
  );
}

void Connection::script(
    std::string_view name, std::string sql, std::chrono::milliseconds timeout, OnRows done
) {
  world_->enqueue({std::string(name), std::move(sql), std::nullopt, timeout, std::move(done)});
}

void Connection::cancel() {
  world_->cancel();
}

void Connection::close() {
  world_->close();
}

void Connection::on_lost(std::function<void(Error)> lost) {
  world_->lost_callback = std::move(lost);
}

void Connection::on_notification(std::function<void(std::string_view, std::string_view)> notified) {
  world_->notified_callback = std::move(notified);
}

ConnectionState Connection::state() const {
  return world_->state;
}

int Connection::backend_pid() const {
  return world_->connection ? PQbackendPID(world_->connection.get()) : 0;
}

Transaction Connection::transaction() const {
  switch (world_->connection ? PQtransactionStatus(world_->connection.get()) : PQTRANS_IDLE) {
    case PQTRANS_INTRANS:
      return Transaction::open;
    case PQTRANS_INERROR:
      return Transaction::failed;
    default:
      return Transaction::none;
  }
}

int Connection::server_version() const {
  return world_->connection ? PQserverVersion(world_->connection.get()) : 0;
}

const Dsn& Connection::dsn() const {
  return world_->options.dsn;
}

// --- connecting ---

void Connection::World::connect(OnConnected done) {
  loop_.assert_owned();
  if (state != ConnectionState::closed && state != ConnectionState::broken) {
    PGFLOW_BUG("connect() on a connection that is open");
  }
  connected_callback_ = std::move(done);
  last_fatal_.clear();
  const unsigned attempt = ++attempts_;
  move_to(ConnectionState::connecting);
  // libpq applies connect_timeout only in its blocking calls.
  deadline_.start(options.connect_timeout);

  const auto endpoints = endpoints_of(connect_options());
  if (endpoints.empty()) return start_connecting(connect_options());

  const auto resolved = std::make_shared<Options>();
  uv::Background::run(
      loop_,
      [resolved, given = connect_options(), endpoints] { *resolved = resolve(given, endpoints); },
      [weak = weak_from_this(), resolved, attempt] {
        const auto self = weak.lock();
        if (self && self->attempts_ == attempt && self->state == ConnectionState::connecting) {
          self->start_connecting(*resolved);
        }
      }
  );
}

Options Connection::World::connect_options() const {
  Options chosen = {
      // A peer that vanished without a word is noticed within a minute.
      {"keepalives_idle", "30"},
      {"keepalives_interval", "10"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "30000"},
  };
  for (const auto& [keyword, value] : options.dsn.options()) chosen[keyword] = value;
  chosen["client_encoding"] = "UTF8";
  if (!options.application_name.empty()) chosen["application_name"] = options.application_name;
  return chosen;
}

void Connection::World::start_connecting(const Options& chosen) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : chosen) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  connection.reset(PQconnectStartParams(keywords.data(), values.data(), 0));
  if (!connection) PGFLOW_BUG("out of memory");
  // Before anything can be said: libpq prints notices to stderr otherwise.
  PQsetNoticeReceiver(connection.get(), &World::on_notice, this);
  // The only way to learn the SQLSTATE of a refused connection is to have it in the text.
  PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  if (PQstatus(connection.get()) == CONNECTION_BAD) {
    early_failure_ = connect_error(PQerrorMessage(connection.get()), options.dsn);
    later_.start({});
    return;
  }
  watch_socket(false, true);
}

void Connection::World::continue_connecting() {
  // libpq may close its socket in here and open another one, even under the same number: watch anew
  // each time.
  poll_.reset();
  switch (PQconnectPoll(connection.get())) {
    case PGRES_POLLING_READING:
      return watch_socket(true, false);
    case PGRES_POLLING_WRITING:
      return watch_socket(false, true);
    case PGRES_POLLING_OK:
      return connected();
    default:
      break;
  }
  std::string text = PQerrorMessage(connection.get());
  if (const char* password = PQpass(connection.get())) text = redact(std::move(text), password);
  connect_failed(connect_error(std::move(text), options.dsn));
}

void Connection::World::connected() {
  deadline_.stop();
  PQsetErrorVerbosity(connection.get(), PQERRORS_DEFAULT);
  PQsetnonblocking(connection.get(), 1);
  watch_socket(true, false);
  move_to(ConnectionState::idle);
  const unsigned closings = closings_;
  std::exchange(connected_callback_, nullptr)({});
  if (closings == closings_) send_next();
}

void Connection::World::connect_failed(Error error) {
  early_failure_.reset();
  drop_connection();
  move_to(ConnectionState::broken);
  const unsigned closings = closings_;
  auto waiting = std::exchange(requests_, {});
  std::exchange(connected_callback_, nullptr)(fail(error));
  for (Request& request : waiting) {
    if (closings != closings_) return;
    request.done(fail(error));
  }
}

// --- querying ---

void Connection::World::enqueue(Request request) {
  loop_.assert_owned();
  if (state == ConnectionState::closed || state == ConnectionState::broken) {
    refused_.push_back(std::move(request.done));
    later_.start({});
    return;
  }
  requests_.push_back(std::move(request));
  send_next();
}

void Connection::World::send_next() {
  if (state != ConnectionState::idle || requests_.empty()) return;
  const Request& request = requests_.front();
  const int sent = send(request);
  move_to(ConnectionState::busy);
  const auto timeout =
      request.timeout == Query::kConnectionsTimeout ? options.query_timeout : request.timeout;
  if (timeout.count() > 0) deadline_.start(timeout);
  if (sent == 0) {
    // Told from the loop, not from inside query().
    deadline_.start({});
    return;
  }
  flush();
}

int Connection::World::send(const Request& request) {
  PGconn* const to = connection.get();
  if (!request.params) return PQsendQuery(to, request.sql.c_str());
  const bool by_name = !request.statement.empty() && !backends_change_;
  preparing_ = by_name && !prepared_.contains(request.statement);
  if (preparing_) {
    return PQsendPrepare(to, request.statement.c_str(), request.sql.c_str(), 0, nullptr);
  }
  std::vector<const char*> values;
  values.reserve(request.params->size());
  for (const Param& param : *request.params) {
    values.push_back(param.text() ? param.text()->c_str() : nullptr);
  }
  const int count = static_cast<int>(values.size());
  return by_name ? PQsendQueryPrepared(
                       to, request.statement.c_str(), count, values.data(), nullptr, nullptr, 0
                   )
                 : PQsendQueryParams(
                       to, request.sql.c_str(), count, nullptr, values.data(), nullptr, nullptr, 0
                   );
}

// The first request has not been done yet: its statement has just been prepared, or could not be
// found, or was there already, because a pooler has changed the backend.
bool Connection::World::sends_again() {
  const Request& request = requests_.front();
  if (request.statement.empty() || !running_result_) return false;
  if (running_result_->has_value()) {
    if (!std::exchange(preparing_, false)) return false;
    prepared_.insert(request.statement);
    return true;
  }
  const std::string& sqlstate = running_result_->error().sqlstate;
  const bool is_elsewhere = sqlstate == (preparing_ ? kStatementExists : kNoSuchStatement);
  preparing_ = false;
  return is_elsewhere && !std::exchange(backends_change_, true);
}

void Connection::World::flush() {
  const int unsent = PQflush(connection.get());
  // A failed flush shows itself as a readable socket with an error, where lose() may be called.
  watch_socket(true, unsent == 1);
}

void Connection::World::on_ready(uv::Ready ready) {
  const auto keep = shared_from_this();
  if (state == ConnectionState::connecting) return continue_connecting();
  if (ready.readable || ready.failed) {
    if (PQconsumeInput(connection.get()) == 0) return end_of_stream();
  } else {
    flush();
  }
  const unsigned closings = closings_;
  read_notifications();
  if (closings != closings_) return;
  if (state == ConnectionState::busy) read_results();
}

void Connection::World::read_results() {
  while (PQisBusy(connection.get()) == 0) {
    PGresult* result = PQgetResult(connection.get());
    if (result == nullptr) return finish();
    if (is_copy(result)) {
      PQclear(result);
      return lose(
          {.kind = "copy_refused",
           .message = "COPY to or from the client is not possible here.",
           .hint = "Send rows as one JSON parameter and read it with jsonb_to_recordset."}
      );
    }
    take(result);
  }
  // Parameters that do not fit into the socket's buffer wait for the server to read.
  if (state == ConnectionState::busy) flush();
}

void Connection::World::take(PGresult* owned) {
  Rows rows(owned);  // owns it, whatever it is
  switch (PQresultStatus(owned)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
      if (!running_result_ || running_result_->has_value()) running_result_ = std::move(rows);
      return;
    case PGRES_FATAL_ERROR:
    case PGRES_BAD_RESPONSE: {
      Error error = error_of(owned);
      if (!running_result_ || running_result_->has_value())
        running_result_ = fail(std::move(error));
      return;
    }
    default:
      PGFLOW_BUG("a result that no query of ours can have");
  }
}

void Connection::World::end_of_stream() {
  Error error = lost_error(PQerrorMessage(connection.get()));
  // What the server said before it hung up is the better reason. PQisBusy stays true when nothing
  // more can come.
  while (state == ConnectionState::busy && PQisBusy(connection.get()) == 0) {
    PGresult* result = PQgetResult(connection.get());
    if (result == nullptr) break;
    take(result);
  }
  if (running_result_ && !running_result_->has_value()) {
    const Error& last_words = running_result_->error();
    error.detail = last_words.message;
    if (!last_words.sqlstate.empty()) error.sqlstate = last_words.sqlstate;
  }
  lose(std::move(error));
}

void Connection::World::finish() {
  if (PQstatus(connection.get()) == CONNECTION_BAD) return end_of_stream();
  deadline_.stop();
  if (sends_again()) {
    running_result_.reset();
    move_to(ConnectionState::idle);
    return send_next();
  }
  Request request = std::move(requests_.front());
  requests_.pop_front();
  Result<Rows> result = running_result_ ? std::move(*running_result_) : Result<Rows>(Rows(nullptr));
  running_result_.reset();
  move_to(ConnectionState::idle);
  const unsigned closings = closings_;
  request.done(std::move(result));
  if (closings == closings_) send_next();
}

void Connection::World::lose(Error error) {
  drop_connection();
  move_to(ConnectionState::broken);
  const unsigned closings = closings_;
  auto waiting = std::exchange(requests_, {});
  for (Request& request : waiting) {
    request.done(fail(error));
    if (closings != closings_) return;
  }
  // One of them may have connected anew. A copy: the callback may replace itself.
  if (state != ConnectionState::broken) return;
  if (const auto lost = lost_callback) lost(std::move(error));
}

void Connection::World::on_deadline() {
  const auto keep = shared_from_this();
  if (state == ConnectionState::connecting) {
    return connect_failed(
        connect_error("no answer within " + human_duration(options.connect_timeout), options.dsn)
    );
  }
  if (state != ConnectionState::busy) return;
  if (PQtransactionStatus(connection.get()) != PQTRANS_ACTIVE) {
    return lose(lost_error(PQerrorMessage(connection.get())));
  }
  lose(lost_error("No answer to " + requests_.front().name + " in time."));
}

void Connection::World::answer_refused() {
  const auto keep = shared_from_this();
  if (early_failure_) {
    Error error = std::move(*early_failure_);
    early_failure_.reset();
    connect_failed(std::move(error));
  }
  const unsigned closings = closings_;
  for (OnRows& done : std::exchange(refused_, {})) {
    if (closings != closings_) return;
    done(fail(
        {.kind = kConnectionLost,
         .message = "There is no connection to the database " + options.dsn.describe() + "."}
    ));
  }
}

void Connection::World::cancel() {
  if (state != ConnectionState::busy) return;
  PGcancel* request = PQgetCancel(connection.get());
  if (request == nullptr) return;
  // A thread of its own, waited for by nobody: PQcancel blocks for as long as a frozen server
  // likes.
  try {
    std::thread([request] {
      std::array<char, 256> problem{};
      PQcancel(request, problem.data(), static_cast<int>(problem.size()));
      PQfreeCancel(request);
    }).detach();
  } catch (const std::system_error& no_thread) {
    PQfreeCancel(request);
    log::warn("db.not_cancelled", {{"reason", no_thread.what()}});
  }
}

void Connection::World::close() {
  ++closings_;
  ++attempts_;
  drop_connection();
  later_.stop();
  early_failure_.reset();
  requests_.clear();
  refused_.clear();
  connected_callback_ = nullptr;
  move_to(ConnectionState::closed);
}

// --- the socket ---

void Connection::World::move_to(ConnectionState next) {
  const bool every_query = next == ConnectionState::busy || state == ConnectionState::busy;
  if (next != state && !every_query && log::enabled(log::Level::debug)) {
    log::debug(
        "db.connection",
        {{"is", name(next)}, {"was", name(state)}, {"database", options.dsn.describe()}}
    );
  }
  state = next;
}

void Connection::World::watch_socket(bool readable, bool writable) {
  if (!poll_) {
    poll_ = std::make_unique<uv::Poll>(loop_, PQsocket(connection.get()), [this](uv::Ready ready) {
      on_ready(ready);
    });
  }
  poll_->watch(readable, writable);
}

void Connection::World::drop_connection() {
  deadline_.stop();
  running_result_.reset();
  prepared_.clear();
  preparing_ = false;
  // Before PQfinish closes the socket: a reused number would deliver another connection's events to
  // us.
  poll_.reset();
  connection.reset();
}

void Connection::World::read_notifications() {
  const unsigned closings = closings_;
  while (PGnotify* raw = PQnotifies(connection.get())) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> notification(raw, &PQfreemem);
    if (notified_callback) notified_callback(notification->relname, notification->extra);
    if (closings != closings_) return;
  }
}

Error Connection::World::lost_error(std::string why) const {
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return {
      .kind = kConnectionLost,
      .message = "The connection to the database " + options.dsn.describe() + " is lost.",
      .detail = options.dsn.redact(std::move(why)),
      .sqlstate = last_fatal_,
  };
}

void Connection::World::on_notice(void* self, const PGresult* notice) noexcept {
  auto* world = static_cast<World*>(self);
  guarded(world->loop_, [&] {
    const auto field = [&](int code) -> std::string_view {
      const char* text = PQresultErrorField(notice, code);
      return text == nullptr ? std::string_view() : text;
    };
    const std::string_view severity = field(PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == "FATAL" || severity == "PANIC") {
      // The server says goodbye to an idle connection; the socket's end follows and tells the
      // owner.
      world->last_fatal_ = field(PG_DIAG_SQLSTATE);
      return;
    }
    const auto level = severity == "WARNING" ? log::Level::warn : log::Level::debug;
    const std::array<log::Field, 3> fields = {
        log::Field("severity", severity),
        log::Field("message", field(PG_DIAG_MESSAGE_PRIMARY)),
        log::Field("sqlstate", field(PG_DIAG_SQLSTATE)),
    };
    log::write(level, "db.notice", fields);
  });
}

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (std::size_t comma; (comma = list.find(',', at)) != std::string::npos; at = comma + 1) {
    parts.push_back(list.substr(at, comma - at));
  }
  parts.push_back(list.substr(at));
  return parts;
}

bool needs_resolver(const std::string& host) {
  if (host.empty() || host.front() == '/' || host.front() == '@') return false;
  in6_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) != 1 &&
         ::inet_pton(AF_INET6, host.c_str(), &address) != 1;
}

std::vector<Endpoint> endpoints_of(const Options& options) {
  const auto value = [&](const char* keyword, const char* variable) -> std::string {
    if (const auto it = options.find(keyword); it != options.end()) return it->second;
    const char* set = std::getenv(variable);
    return set == nullptr ? "" : set;
  };
  if (!value("hostaddr", "PGHOSTADDR").empty()) return {};
  const auto hosts = split(value("host", "PGHOST"));
  const auto ports = split(value("port", "PGPORT"));
  std::vector<Endpoint> endpoints;
  bool blocks = false;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    blocks = blocks || needs_resolver(hosts[i]);
    endpoints.push_back(
        {hosts[i],
         ports.size() == 1  ? ports[0]
         : i < ports.size() ? ports[i]
                            : ""}
    );
  }
  return blocks ? endpoints : std::vector<Endpoint>();
}

std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
    char text[NI_MAXHOST];
    const int failed =
        ::getnameinfo(it->ai_addr, it->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    if (failed == 0) addresses.emplace_back(text);
  }
  return addresses;
}

Options resolve(Options options, const std::vector<Endpoint>& endpoints) {
  std::string hosts, addresses, ports;
  const auto add = [&](const std::string& host, const std::string& address, const std::string& port
                   ) {
    const char* comma = hosts.empty() && addresses.empty() && ports.empty() ? "" : ",";
    hosts += comma + host;
    addresses += comma + address;
    ports += comma + (port.empty() ? "5432" : port);
  };
  for (const Endpoint& endpoint : endpoints) {
    if (!needs_resolver(endpoint.host)) {
      add(endpoint.host, "", endpoint.port);
      continue;
    }
    for (const std::string& address : addresses_of(endpoint.host)) {
      add(endpoint.host, address, endpoint.port);
    }
  }
  if (ports.empty()) return options;
  options["host"] = hosts;
  options["hostaddr"] = addresses;
  options["port"] = ports;
  return options;
}

std::string field_of(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

constexpr std::string_view kReadOnly = "25006";

Error error_of(const PGresult* result) {
  Error error{
      .kind = field_of(result, PG_DIAG_CONSTRAINT_NAME),
      .message = field_of(result, PG_DIAG_MESSAGE_PRIMARY),
      .detail = field_of(result, PG_DIAG_MESSAGE_DETAIL),
      .hint = field_of(result, PG_DIAG_MESSAGE_HINT),
      .sqlstate = field_of(result, PG_DIAG_SQLSTATE),
  };
  constexpr std::string_view kOurs = "pgflow_";
  if (error.kind.starts_with(kOurs)) error.kind.erase(0, kOurs.size());
  if (error.kind.empty()) error.kind = kDatabaseError;
  if (error.hint.empty() && error.sqlstate == kReadOnly) {
    error.hint =
        "The server is a standby, or default_transaction_read_only is on. With several hosts in "
        "the database URL and target_session_attrs=read-write the one that can be written is "
        "found.";
  }
  if (error.message.empty()) {
    // Errors that libpq made itself have no fields.
    error.message = PQresultErrorMessage(result);
    while (!error.message.empty() && error.message.back() == '\n') error.message.pop_back();
  }
  return error;
}

// Takes the SQLSTATE out of libpq's verbose text: "…FATAL:  28P01: password authentication
// failed…\nLOCATION:  …".
std::string extract_sqlstate(std::string& text) {
  constexpr std::size_t kLength = 5;
  for (std::size_t at = text.find(":  "); at != std::string::npos; at = text.find(":  ", at + 1)) {
    const std::size_t start = at + 3;
    if (start + kLength + 2 > text.size() || text.compare(start + kLength, 2, ": ") != 0) continue;
    const std::string code = text.substr(start, kLength);
    if (code.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)
      continue;
    text.erase(start, kLength + 2);
    return code;
  }
  return "";
}

void drop_location_lines(std::string& text) {
  for (std::size_t at; (at = text.find("\nLOCATION:")) != std::string::npos;) {
    const std::size_t end = text.find('\n', at + 1);
    text.erase(at, end == std::string::npos ? std::string::npos : end - at);
  }
}

std::string hint_for(std::string_view sqlstate) {
  if (sqlstate.starts_with("28")) return "Check user, password and the server's pg_hba.conf.";
  if (sqlstate == "3D000") return "Create the database, or correct its name in the database URL.";
  if (sqlstate == "53300") return "Raise max_connections, or use fewer workers.";
  if (sqlstate == "57P03") return "The server is starting or stopping; try again in a moment.";
  return "Check that the server runs and that host and port in the database URL are right.";
}

Error connect_error(std::string text, const Dsn& dsn) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string sqlstate = extract_sqlstate(text);
  drop_location_lines(text);
  return {
      .kind = kConnectionFailed,
      .message = "Cannot connect to the database " + dsn.describe() + ".",
      .detail = dsn.redact(std::move(text)),
      .hint = hint_for(sqlstate),
      .sqlstate = sqlstate,
  };
}

}  // namespace
}  // namespace pgflow::pg
