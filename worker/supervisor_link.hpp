// The worker's end of its supervisor's socket.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "contract/messages.hpp"
#include "uv/poll.hpp"

namespace pgflow::worker {

class SupervisorLink {
 public:
  struct Events {
    std::function<void(const contract::FromSupervisor&)> message;
    std::function<void()> lost;  // once: the supervisor is gone
  };

  // The socket stays open until the process ends: its end tells the supervisor that we are dead.
  SupervisorLink(uv::Loop& loop, int socket, Events events);

  // Never waits. A supervisor that does not read gets the messages later, in order; one that is
  // gone gets none.
  void send(const contract::FromWorker& message);

  // Blocks for what is still unsent, briefly: the last words before an exit.
  void flush();

 private:
  void receive();
  void write_outbox();
  void lose();

  const int socket_;
  const Events events_;
  std::deque<std::string> outbox_;
  bool deaf_ = false;  // the supervisor reads no more
  bool lost_ = false;
  uv::Poll poll_;
};

}  // namespace pgflow::worker
