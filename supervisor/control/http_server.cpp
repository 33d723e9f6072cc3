#include "supervisor/control/http_server.hpp"

#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "supervisor/control/problem.hpp"

namespace pgflow::supervisor {
namespace {

constexpr std::size_t kLongestBody = 64 * 1024;
constexpr std::size_t kMostUnread = 1024 * 1024;  // of a stream, before its client is dropped
// Who connects and says nothing must not keep the probes out.
constexpr unsigned kMostConnections = 512;
constexpr unsigned kIdleSeconds = 5;
constexpr std::chrono::milliseconds kLastAnswers{1000};

std::optional<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  // TCP has none: the kernel answers, with nobody.
  if (credentials.pid == 0) return std::nullopt;
  Peer peer{.uid = credentials.uid, .pid = credentials.pid, .groups = {credentials.gid}};
  std::vector<gid_t> more(65'536);
  size = static_cast<socklen_t>(more.size() * sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, more.data(), &size) == 0) {
    more.resize(size / sizeof(gid_t));
    peer.groups.insert(peer.groups.end(), more.begin(), more.end());
  }
  return peer;
}

MHD_Result keep(void* list, MHD_ValueKind, const char* name, const char* value) {
  static_cast<std::vector<std::pair<std::string, std::string>>*>(list)->emplace_back(
      name, value == nullptr ? "" : value
  );
  return MHD_YES;
}

// Threads of this room never take a signal: the supervisor's own thread handles them all.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (known.size() == name.size() && strncasecmp(known.data(), name.data(), name.size()) == 0) {
      return value;
    }
  }
  return {};
}

std::optional<std::string_view> HttpRequest::parameter(std::string_view name) const {
  for (const auto& [known, value] : query) {
    if (known == name) return value;
  }
  return std::nullopt;
}

namespace {

// What the server's thread and the answering thread share about connections. Its mutex guards every
// connection pointer: nobody resumes one that has ended.
struct Gate {
  std::mutex mutex;
  bool closing = false;
  std::condition_variable ended;  // a request, and with it its Exchange's connection
};

class Stream : public HttpStream {
 public:
  Stream(std::shared_ptr<Gate> gate, MHD_Connection* connection, std::string text)
      : gate_(std::move(gate)), connection_(connection), unread_(std::move(text)) {}

  void write(std::string_view text) override {
    const std::lock_guard lock(gate_->mutex);
    if (connection_ == nullptr) return;
    unread_ += text;
    if (unread_.size() > kMostUnread) ended_ = true;
    wake();
  }
  bool gone() const override {
    const std::lock_guard lock(gate_->mutex);
    return connection_ == nullptr || ended_;
  }

  // The server's thread from here on.
  static ssize_t read(void* self, std::uint64_t, char* buffer, std::size_t most) {
    return (*static_cast<std::shared_ptr<Stream>*>(self))->read(buffer, most);
  }
  static void release(void* self) { delete static_cast<std::shared_ptr<Stream>*>(self); }

  // With the gate's mutex held.
  void end() {
    ended_ = true;
    wake();
  }
  void forget() { connection_ = nullptr; }

 private:
  ssize_t read(char* buffer, std::size_t most) {
    const std::lock_guard lock(gate_->mutex);
    if (ended_) return MHD_CONTENT_READER_END_OF_STREAM;
    const std::size_t size = std::min(most, unread_.size());
    if (size == 0) {
      suspended_ = true;
      MHD_suspend_connection(connection_);
      return 0;
    }
    std::copy_n(unread_.data(), size, buffer);
    unread_.erase(0, size);
    return static_cast<ssize_t>(size);
  }
  void wake() {
    if (connection_ == nullptr || !std::exchange(suspended_, false)) return;
    MHD_resume_connection(connection_);
  }

  std::shared_ptr<Gate> gate_;
  MHD_Connection* connection_;  // Guarded by the gate's mutex, as all that follows.
  std::string unread_;
  bool suspended_ = false;
  bool ended_ = false;
};

class Exchange : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Gate> gate, MHD_Connection* connection)
      : gate_(std::move(gate)), connection_(connection) {}

  const HttpRequest& request() const override { return request_; }

  void answer(HttpAnswer answer) override {
    const std::lock_guard lock(gate_->mutex);
    answer_ = std::move(answer);
    wake();
  }
  std::shared_ptr<HttpStream> stream(std::string content_type, std::string text) override {
    const std::lock_guard lock(gate_->mutex);
    answer_ = HttpAnswer{
        .content_type = std::move(content_type), .headers = {{"Cache-Control", "no-store"}}
    };
    stream_ = std::make_shared<Stream>(gate_, connection_, std::move(text));
    wake();
    return stream_;
  }

  // The server's thread from here on.
  HttpRequest& incoming() { return request_; }
  bool asked() const { return asked_; }
  // Waits without a thread until the answer is there. False: nobody answers any more.
  bool suspend() {
    const std::lock_guard lock(gate_->mutex);
    asked_ = true;
    waited_ = true;
    if (gate_->closing) return false;
    suspended_ = true;
    MHD_suspend_connection(connection_);
    return true;
  }
  MHD_Result send() {
    std::optional<HttpAnswer> answer;
    std::shared_ptr<Stream> stream;
    {
      const std::lock_guard lock(gate_->mutex);
      answer = std::move(answer_);
      stream = stream_;
    }
    if (!answer) answer = problem(503, {"stopping", "The supervisor is stopping."});
    return send(*answer, std::move(stream));
  }
  MHD_Result send(const HttpAnswer& answer, std::shared_ptr<Stream> stream = nullptr) {
    MHD_Response* response =
        stream
            ? MHD_create_response_from_callback(
                  MHD_SIZE_UNKNOWN,
                  4096,
                  &Stream::read,
                  new std::shared_ptr<Stream>(std::move(stream)),
                  &Stream::release
              )
            : MHD_create_response_from_buffer(
                  answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY
              );
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", answer.content_type.c_str());
    for (const auto& [name, value] : answer.headers) {
      MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    const MHD_Result queued =
        MHD_queue_response(connection_, static_cast<unsigned>(answer.status), response);
    MHD_destroy_response(response);
    return queued;
  }

  // With the gate's mutex held.
  bool is_owed() const { return waited_ && !stream_; }
  void let_go() {
    if (stream_) stream_->end();
    wake();
  }
  void forget() {
    connection_ = nullptr;
    if (stream_) stream_->forget();
  }

 private:
  void wake() {
    if (connection_ == nullptr || !std::exchange(suspended_, false)) return;
    MHD_resume_connection(connection_);
  }

  std::shared_ptr<Gate> gate_;
  HttpRequest request_;  // complete, and constant, once asked_
  bool asked_ = false;   // the server's thread only

  // Guarded by the gate's mutex.
  MHD_Connection* connection_;
  bool waited_ = false;
  bool suspended_ = false;
  std::optional<HttpAnswer> answer_;
  std::shared_ptr<Stream> stream_;
};

// Where the next request begins, a proxy before us may see otherwise (RFC 9112, 6.1).
bool has_two_lengths(const HttpRequest& request) {
  return !request.header("Content-Length").empty() && !request.header("Transfer-Encoding").empty();
}

HttpAnswer two_lengths() {
  HttpAnswer answer = problem(
      400,
      {"two_lengths",
       "The request has both Content-Length and Transfer-Encoding.",
       "",
       "Send one of them."}
  );
  answer.headers.emplace_back("Connection", "close");
  return answer;
}

}  // namespace

struct HttpServer::Daemon {
  Daemon(UniqueFd listening, Handlers to_call) : handlers(std::move(to_call)) {
    const NoSignals quiet;
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME,
        0,
        nullptr,
        nullptr,
        &Daemon::on_request,
        this,
        MHD_OPTION_LISTEN_SOCKET,
        listening.get(),
        MHD_OPTION_CONNECTION_LIMIT,
        kMostConnections,
        MHD_OPTION_CONNECTION_TIMEOUT,
        kIdleSeconds,
        MHD_OPTION_NOTIFY_COMPLETED,
        &Daemon::on_completed,
        this,
        MHD_OPTION_END
    );
    if (daemon != nullptr) listening.release();  // the daemon closes it
  }
  ~Daemon() {
    {
      std::unique_lock lock(gate->mutex);
      gate->closing = true;
      for (Exchange* exchange : open) exchange->let_go();
      // MHD_stop_daemon cuts off what is not sent yet.
      gate->ended.wait_for(lock, kLastAnswers, [this] {
        return std::ranges::none_of(open, &Exchange::is_owed);
      });
    }
    if (daemon != nullptr) MHD_stop_daemon(daemon);
  }

  static MHD_Result on_request(
      void* self,
      MHD_Connection* connection,
      const char* url,
      const char* method,
      const char* /*version*/,
      const char* upload,
      std::size_t* upload_size,
      void** request
  ) {
    auto* daemon = static_cast<Daemon*>(self);
    if (*request == nullptr) {
      *request = daemon->begin(connection, url, method);
      const auto& begun = *static_cast<std::shared_ptr<Exchange>*>(*request);
      return has_two_lengths(begun->request()) ? begun->send(two_lengths()) : MHD_YES;
    }
    const auto& exchange = *static_cast<std::shared_ptr<Exchange>*>(*request);
    if (*upload_size > 0) {
      HttpRequest& incoming = exchange->incoming();
      const std::size_t room = kLongestBody - incoming.body.size();
      incoming.body_too_large |= *upload_size > room;
      incoming.body.append(upload, std::min(room, *upload_size));
      *upload_size = 0;
      return MHD_YES;
    }
    if (exchange->asked()) return exchange->send();
    if (const auto answer = daemon->handlers.at_once(exchange->request())) {
      return exchange->send(*answer);
    }
    if (!exchange->suspend()) return exchange->send();
    daemon->handlers.on_request(exchange);
    return MHD_YES;
  }

  void* begin(MHD_Connection* connection, const char* url, const char* method) {
    auto exchange = std::make_shared<Exchange>(gate, connection);
    HttpRequest& incoming = exchange->incoming();
    incoming.method = method;
    incoming.path = url;
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &keep, &incoming.query);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &keep, &incoming.headers);
    if (const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)) {
      incoming.peer = peer_of(info->connect_fd);
    }
    const std::lock_guard lock(gate->mutex);
    open.insert(exchange.get());
    return new std::shared_ptr<Exchange>(std::move(exchange));
  }

  static void on_completed(
      void* self, MHD_Connection*, void** request, MHD_RequestTerminationCode
  ) {
    if (*request == nullptr) return;
    auto* daemon = static_cast<Daemon*>(self);
    auto* exchange = static_cast<std::shared_ptr<Exchange>*>(*request);
    {
      const std::lock_guard lock(daemon->gate->mutex);
      (*exchange)->forget();
      daemon->open.erase(exchange->get());
      daemon->gate->ended.notify_all();
    }
    delete exchange;
    *request = nullptr;
  }

  const Handlers handlers;
  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::set<Exchange*> open;      // Guarded by the gate's mutex.
  MHD_Daemon* daemon = nullptr;  // stays so when it could not be started
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(UniqueFd listening, Handlers handlers) {
  auto daemon = std::make_unique<Daemon>(std::move(listening), std::move(handlers));
  if (daemon->daemon == nullptr) {
    return fail(
        {.kind = "os_error",
         .message = "The HTTP server's thread cannot be made.",
         .hint = "A limit is reached: of threads or memory (ulimit -u, -v; pids.max)."}
    );
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(daemon)));
}

HttpServer::HttpServer(std::unique_ptr<Daemon> daemon) : daemon_(std::move(daemon)) {}

HttpServer::~HttpServer() = default;

}  // namespace pgflow::supervisor
