// Runs a private server as `pgflow dev` does: `local_pg_probe ROOT RUN_DIR SHIM [--ephemeral]`
// prints how it went, and stops the server on SIGTERM.
#include <signal.h>

#include <cstdio>
#include <string>

#include "local_pg/server.hpp"
#include "uv/signal.hpp"

int main(int argc, char** argv) {
  using namespace pgflow;
  if (argc < 4) return 64;
  uv::Loop loop;
  local_pg::Options options{.root = argv[1], .run_dir = argv[2], .shim_program = argv[3]};
  options.ephemeral = argc > 4 && std::string(argv[4]) == "--ephemeral";
  options.on_restart = [] {
    std::puts("restarted");
    std::fflush(stdout);
  };
  local_pg::Server server(loop, options);
  int exit_code = 0;
  uv::Signal stop(loop, SIGTERM, [&](int) { server.stop([&] { loop.stop(); }); });
  uv::Timer keep_running(loop, [] {});
  keep_running.start(std::chrono::hours(1));
  server.start([&](Result<local_pg::Started> started) {
    if (started) {
      std::printf(
          "%s %s %s\n",
          started->attached ? "attached" : "ready",
          started->created ? "created" : "found",
          started->endpoint.uri().c_str()
      );
    } else {
      std::printf(
          "error: %s\ndetail: %s\nhint: %s\n",
          started.error().message.c_str(),
          started.error().detail.c_str(),
          started.error().hint.c_str()
      );
      exit_code = 69;
      loop.stop();
    }
    std::fflush(stdout);
  });
  loop.run();
  return exit_code;
}
