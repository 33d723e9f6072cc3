// One of the worker's connections, which comes back for as long as it is wanted.
#pragma once

#include <functional>

#include "base/backoff.hpp"
#include "pg/connection.hpp"
#include "uv/timer.hpp"

namespace pgflow::worker {

class Link {
 public:
  struct Events {
    std::function<void()> up;
    std::function<void(const Error&)>
        down;  // lost, or an attempt to connect failed; the next follows
    // The pause before the next attempt is over: admit() makes it. Empty: it is made at once.
    std::function<void()> ask{};
  };

  Link(uv::Loop& loop, pg::ConnectionOptions options, Events events);

  void open();
  // Does nothing unless it has asked.
  void admit();
  // The connection is there, but its server is no use (read-only, shutting down): down, then again.
  void renew(const Error& why);
  // The server has done something for us, so its next loss is a new one, with a short pause.
  void proven() { backoff_.reset(); }
  void close();

  bool is_up() const { return connection_.is_open(); }
  pg::Connection& connection() { return connection_; }

 private:
  void connect();
  void come_back();
  void lost(const Error& why);

  const Events events_;
  Backoff backoff_;
  pg::Connection connection_;
  uv::Timer again_;
  bool asks_ = false;
};

}  // namespace pgflow::worker
