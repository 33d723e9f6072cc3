// A private server on a thread of its own, for programs whose main thread has another loop.
#pragma once

#include <future>
#include <memory>
#include <thread>

#include "local_pg/server.hpp"

namespace pgflow::local_pg {

class BackgroundServer {
 public:
  // Starts it. The callbacks in `options` come from the server's thread.
  explicit BackgroundServer(Options options);
  // Stops it, and returns when it is gone.
  ~BackgroundServer();
  BackgroundServer(const BackgroundServer&) = delete;
  BackgroundServer& operator=(const BackgroundServer&) = delete;

  // How the start went; to be read once.
  std::future<Result<Started>>& started() { return started_; }

 private:
  struct World;

  std::promise<Result<Started>> promise_;
  std::future<Result<Started>> started_ = promise_.get_future();
  std::unique_ptr<World> world_;
  // The server's parent-death signal follows this thread: it lives as long as the server.
  std::thread thread_;
};

}  // namespace pgflow::local_pg
