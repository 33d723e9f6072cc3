// A worker process: made with its lock, its socket and its identity, heard until it is reaped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/unique_fd.hpp"
#include "contract/board.hpp"
#include "contract/messages.hpp"
#include "settings/settings.hpp"
#include "supervisor/worker_output.hpp"
#include "uv/child_process.hpp"
#include "uv/poll.hpp"

namespace pgflow::supervisor {

struct WorkerSpec {
  const settings::FlowSettings& flow;
  const settings::StepSettings& step;
  std::string slot;  // "flow/step#1"
  WorkerId worker_id;
  std::string revision;
  std::string database_url;
  const settings::LogSettings& log;  // its level
};

class WorkerProcess {
 public:
  struct Events {
    std::function<void(contract::FromWorker)> message;
    WorkerOutput::OnLine said;
    std::function<void(Error)> broken;  // rubbish, or the end of the socket before its own
    std::function<void(uv::ChildProcess::Exit)> exited;  // the last event; all messages came before
  };

  // Through the exec shim of this very program. `slot_lock` goes over to the worker.
  static Result<std::unique_ptr<WorkerProcess>> start(
      uv::Loop& loop, const WorkerSpec& spec, UniqueFd slot_lock, Events events
  );
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return child_->pid(); }
  // Message ids of the tasks whose handlers run, or ran when it died.
  std::vector<std::int64_t> running() const { return board_.running(); }
  // Never waits. A worker that does not read loses the message and is found by the watchdog.
  void send(const contract::FromSupervisor& message);
  // Takes what lies in the socket, before a judgement that depends on it.
  void receive();
  // The same for its output: what it said last.
  void hear_out() { output_->finish(); }
  void kill();
  // It ends itself, if it can, and leaves a core where one is allowed.
  void abort();

 private:
  WorkerProcess(UniqueFd socket, contract::Board board, Events events)
      : socket_(std::move(socket)), board_(std::move(board)), events_(std::move(events)) {}
  void on_exit(uv::ChildProcess::Exit exit);

  UniqueFd socket_;
  contract::Board board_;
  Events events_;
  bool ended_ = false;  // the socket: its end was seen, or rubbish
  std::optional<uv::Poll> poll_;
  std::optional<WorkerOutput> output_;
  std::unique_ptr<uv::ChildProcess> child_;
};

}  // namespace pgflow::supervisor
