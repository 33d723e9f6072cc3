// The room from which a running supervisor is watched and ordered about. It has two doors: a UNIX
// socket, and TCP if the config file says so.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "settings/settings.hpp"
#include "supervisor/control/doorkeeper.hpp"
#include "supervisor/control/event_feed.hpp"
#include "supervisor/control/http_server.hpp"
#include "supervisor/control/log_feed.hpp"
#include "supervisor/control/metrics.hpp"
#include "supervisor/control/order_body.hpp"
#include "supervisor/orders.hpp"
#include "uv/loop.hpp"
#include "uv/mailbox.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class ControlRoom {
 public:
  ControlRoom(
      uv::Loop& loop, Orders& orders, const settings::SupervisorSettings& settings, Metrics& metrics
  );
  ~ControlRoom();
  ControlRoom(const ControlRoom&) = delete;
  ControlRoom& operator=(const ControlRoom&) = delete;

  // Opens the doors; the caller holds the lock of the state folder. Error kinds "not_listening",
  // "locked": another supervisor answers there; "os_error".
  Result<void> open();
  // The snapshot may show something else now.
  void changed();
  void said(WorkerLine line) { logs_.say(std::move(line)); }
  // Where TCP listens; 0: it does not.
  int port() const { return port_; }

 private:
  struct Door {
    std::unique_ptr<Doorkeeper> keeper;
    std::unique_ptr<HttpServer> server;  // its thread uses the keeper

    void close() {
      server.reset();
      keeper.reset();
    }
  };

  Result<void> open_socket();
  Result<void> open_tcp();
  Result<Door> door(UniqueFd listening, std::unique_ptr<Doorkeeper> keeper);
  // Somebody may have removed it.
  void watch_socket();

  // A door's thread: refusals, and whether the loop is alive.
  std::optional<HttpAnswer> answer_at_once(const HttpRequest& request, const Doorkeeper& keeper);
  HttpAnswer livez(const HttpRequest& request) const;

  // The loop's thread.
  void answer(HttpExchange& exchange);
  void follow(HttpExchange& exchange);
  void follow_logs(HttpExchange& exchange);
  Snapshot shown_to(const HttpRequest& request) const;
  HttpAnswer look(Operation operation, const HttpRequest& request) const;
  HttpAnswer obey(const Match& match, const HttpRequest& request);
  Result<void> order(Operation operation, const Match& match, const OrderBody& body);
  Error explained(Error error, const Match& match) const;
  void tick();
  void look_around();

  Orders& orders_;
  const settings::SupervisorSettings& settings_;
  Metrics& metrics_;
  EventFeed events_;
  LogFeed logs_;
  int port_ = 0;

  // Written by the loop, read by the doors.
  std::atomic<SteadyClock::time_point> ticked_at_;
  // When a stop should have ended; the far future before it has begun.
  std::atomic<SteadyClock::time_point> stop_due_at_{SteadyClock::time_point::max()};

  uv::Timer tick_timer_;
  uv::Timer change_timer_;
  uv::Timer keep_alive_timer_;
  uv::Mailbox<std::shared_ptr<HttpExchange>> mailbox_;
  std::optional<std::pair<dev_t, ino_t>> socket_file_;  // ours
  bool told_lost_ = false;
  // Last: their threads use all of the above.
  Door socket_door_;
  Door tcp_door_;
};

}  // namespace pgflow::supervisor
