#include "local_pg/background_server.hpp"

#include "uv/mailbox.hpp"

namespace pgflow::local_pg {

struct BackgroundServer::World {
  // Any thread, once the loop's thread has filled it in.
  std::promise<uv::Doorbell*> bell_made;
  std::future<uv::Doorbell*> bell = bell_made.get_future();
};

BackgroundServer::BackgroundServer(Options options)
    : world_(std::make_unique<World>()), thread_([this, options = std::move(options)]() mutable {
        uv::Loop loop;
        Server server(loop, std::move(options));
        bool over = false;
        uv::Doorbell stop(loop, [&] {
          server.stop([&] {
            over = true;
            loop.stop();
          });
        });
        world_->bell_made.set_value(&stop);
        server.start([this](Result<Started> result) { promise_.set_value(std::move(result)); });
        while (!over) loop.run();
      }) {}

BackgroundServer::~BackgroundServer() {
  world_->bell.get()->ring();
  thread_.join();
}

}  // namespace pgflow::local_pg
