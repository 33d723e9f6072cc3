// A private PostgreSQL: made on first use, started, kept running, stopped without a trace; or
// joined when it runs.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/backoff.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "local_pg/binaries.hpp"
#include "local_pg/layout.hpp"
#include "uv/child_process.hpp"
#include "uv/poll.hpp"
#include "uv/timer.hpp"

namespace pgflow::local_pg {

struct Options {
  std::filesystem::path root;                       // usually .pgflow in a project
  bool ephemeral = false;                           // stop() removes `root`
  std::optional<std::filesystem::path> binaries{};  // else the newest installed server
  std::filesystem::path run_dir{};                  // else a short one by hash
  std::string shim_program = "/proc/self/exe";      // a program with the verb `__exec`
  std::function<void(std::string_view)> on_log{};   // each line that the server writes
  // The server died, or its owner left, and it was started again; its clients have lost their
  // connections.
  std::function<void()> on_restart{};
};

struct Started {
  Endpoint endpoint;
  std::string version;    // "15.18"; "15" when attached
  bool attached = false;  // another process owns the server; stop() leaves it alone
  bool created = false;   // the cluster was made just now
  std::chrono::milliseconds took{};
};

class Server {
 public:
  Server(uv::Loop& loop, Options options);
  // A server that still runs gets its shutdown signal, and nobody waits for it.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // `done` is called once, on the loop. Afterwards a server that dies is started again, with
  // back-off, until stop(); also one that was joined, when its owner leaves.
  void start(std::function<void(Result<Started>)> done);
  // Fast shutdown; after 10 s an immediate one. `done` is called once, on the loop.
  void stop(std::function<void()> done);

 private:
  enum class State {
    idle,
    waiting,
    initialising,
    starting,
    ready,
    attached,
    backoff,
    stopping,
    stopped
  };
  using Step = void (Server::*)();

  // In the order they run.
  Result<void> plan();
  void acquire();        // the lock, or the server that its holder runs
  void take_over();      // once the owner of the server that was joined has left
  void await_absence();  // of a server whose owner was killed and that is shutting down
  void begin();
  void initialise();
  void clear_unborn() const;
  void fill();   // the database, in the new cluster
  void adopt();  // the new cluster becomes the data folder
  void launch();
  void check_ready();
  void on_server_exit(uv::ChildProcess::Exit exit);
  void relaunch_later();
  void escalate_stop();
  void finish_stop();

  Result<void> write_configuration(const std::filesystem::path& data) const;
  Result<void> run_child(
      const std::vector<std::string>& command,
      int parent_death_signal,
      UniqueFd input,
      std::function<void(uv::ChildProcess::Exit)> on_exit
  );
  void read_output();
  void answer(Result<Started> result);
  void give_up(Error error);
  Error child_failed(std::string_view what) const;
  void later(std::chrono::milliseconds delay, Step step);

  // Immutable after plan().
  uv::Loop& loop_;
  Options options_;
  std::optional<std::string> user_;
  Layout layout_;
  Binaries binaries_;

  // Loop thread only.
  State state_ = State::idle;
  bool launched_ = false;  // the files in the run folder are ours
  bool was_ready_ = false;
  bool created_ = false;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point deadline_{};
  UniqueFd lock_;
  Backoff backoff_;
  Step next_step_ = nullptr;
  uv::Timer timer_;
  std::unique_ptr<uv::ChildProcess> child_;
  UniqueFd output_;
  std::unique_ptr<uv::Poll> output_poll_;  // after output_: it goes first
  std::string partial_line_;
  std::deque<std::string> last_lines_;
  std::function<void(Result<Started>)> started_;
  std::function<void()> stopped_;
};

}  // namespace pgflow::local_pg
