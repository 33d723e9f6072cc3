// HTTP/1.1 on one listening socket, on a thread of its own that knows nothing of the supervisor:
// questions travel to whoever answers them, answers travel back.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::supervisor {

// The process at the other end of a UNIX socket, as the kernel says.
struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
  std::vector<gid_t> groups;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool body_too_large = false;  // what stands in `body` is then not all of it
  std::optional<Peer> peer;     // not on TCP

  // The first of that name, header names without regard to case; empty: none.
  std::string_view header(std::string_view name) const;
  std::optional<std::string_view> parameter(std::string_view name) const;
};

// A body without an end: what is written reaches the client at once. Any thread.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual void write(std::string_view text) = 0;
  // The client has gone, or reads too slowly and was dropped.
  virtual bool gone() const = 0;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// One request that waits for its answer. Exactly one of the two must follow; any thread.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  virtual void answer(HttpAnswer answer) = 0;
  // A body that begins with `text` and goes on.
  virtual std::shared_ptr<HttpStream> stream(std::string content_type, std::string text) = 0;
};

class HttpServer {
 public:
  struct Handlers {
    // On the server's thread, so it must not wait: the answer, when it needs nobody else.
    std::function<std::optional<HttpAnswer>(const HttpRequest&)> at_once;
    // On the server's thread: hand it on.
    std::function<void(std::shared_ptr<HttpExchange>)> on_request;
  };

  // `listening` is a bound socket that listens. Error kind "os_error": no thread can be made.
  static Result<std::unique_ptr<HttpServer>> start(UniqueFd listening, Handlers handlers);
  // Ends the thread; who still waits for an answer gets 503.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Daemon;
  explicit HttpServer(std::unique_ptr<Daemon> daemon);

  std::unique_ptr<Daemon> daemon_;
};

}  // namespace pgflow::supervisor
