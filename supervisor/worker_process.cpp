#include "supervisor/worker_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/exec_shim.hpp"
#include "contract/environment.hpp"
#include "log/log.hpp"
#include "supervisor/worker_environment.hpp"

namespace pgflow::supervisor {
namespace {

// The kernel prefers a worker to its supervisor when memory runs out.
constexpr int kOomScore = 300;

std::vector<std::string> worker_arguments(const WorkerSpec& spec) {
  std::vector<std::string> command = spec.flow.worker.command;
  command.insert(command.end(), {contract::kWorkerFlag, contract::kFlowFlag, spec.flow.slug});
  if (!spec.step.slug.empty()) {
    command.insert(command.end(), {contract::kStepFlag, spec.step.slug});
  }
  const ExecShim shim{
      .parent_death_signal = SIGTERM,
      .parent = getpid(),
      .user = {},
      .oom_score_adj = kOomScore,
      .close_from = static_cast<unsigned>(contract::kBoardFd) + 1,
  };
  return exec_shim_command("/proc/self/exe", shim, command);
}

std::vector<std::pair<std::string, std::string>> contract_variables(const WorkerSpec& spec) {
  std::vector<std::pair<std::string, std::string>> variables{
      {contract::kSupervisorFdVariable, std::to_string(contract::kSupervisorFd)},
      {contract::kSlotFdVariable, std::to_string(contract::kSlotFd)},
      {contract::kBoardFdVariable, std::to_string(contract::kBoardFd)},
      {contract::kWorkerIdVariable, spec.worker_id.text()},
      {contract::kSlotVariable, spec.slot},
      {contract::kRevisionVariable, spec.revision},
      {contract::kProtocolVariable, std::to_string(contract::kProtocol)},
      {contract::kLogColourVariable, log::colour() ? "1" : "0"},
  };
  // Workers may log in as a role with fewer rights than the supervisor's.
  const bool has_url_of_its_own = std::ranges::any_of(spec.flow.worker.env, [](const auto& entry) {
    return entry.first == contract::kDatabaseUrlVariable;
  });
  if (!has_url_of_its_own) {
    variables.emplace_back(contract::kDatabaseUrlVariable, spec.database_url);
  }
  return variables;
}

// One log, one level, one format. By the names that give way to every other that says so.
std::vector<std::pair<std::string, std::string>> log_variables(const settings::LogSettings& log) {
  return {
      {"EDGE_WORKER_LOG_LEVEL", log.level},
      {"EDGE_WORKER_LOG_FORMAT", std::string(log::name(log::format()))}
  };
}

Error no_descriptor(const char* message) {
  return {
      .kind = "os_error",
      .message = message,
      .detail = std::strerror(errno),
      .hint = "Raise the limit of open files (ulimit -n)."
  };
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(
    uv::Loop& loop, const WorkerSpec& spec, UniqueFd slot_lock, Events events
) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return fail(no_descriptor("Cannot make a socket for a worker."));
  }
  const UniqueFd theirs(ends[1]);
  UniqueFd ours(ends[0]);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(no_descriptor("Cannot make a pipe for a worker."));
  }
  UniqueFd output(ends[0]);
  const UniqueFd their_output(ends[1]);  // blocks: programs do not expect anything else
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
  const auto shared = contract::Board::make();
  if (!shared) return tl::unexpected(shared.error());
  auto board = contract::Board::open(shared->get());
  if (!board) return tl::unexpected(std::move(board.error()));
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(std::move(ours), std::move(*board), std::move(events))
  );
  WorkerProcess* self = worker.get();
  auto child = uv::ChildProcess::start(
      loop,
      {.arguments = worker_arguments(spec),
       .environment =
           worker_environment(spec.flow.worker, contract_variables(spec), log_variables(spec.log)),
       .folder = spec.flow.worker.cwd.string(),
       .descriptors =
           {{their_output.get(), STDOUT_FILENO},
            {their_output.get(), STDERR_FILENO},
            {theirs.get(), contract::kSupervisorFd},
            {slot_lock.get(), contract::kSlotFd},
            {shared->get(), contract::kBoardFd}},
       .new_session = true},
      [self](uv::ChildProcess::Exit exit) { self->on_exit(exit); }
  );
  if (!child) return tl::unexpected(std::move(child.error()));
  worker->child_ = std::move(*child);
  worker->poll_.emplace(loop, worker->socket_.get(), [self](uv::Ready) { self->receive(); });
  worker->poll_->watch(true, false);
  worker->output_.emplace(loop, std::move(output), worker->events_.said);
  // `slot_lock` closes here: from now on the lock lives exactly as long as the worker.
  return worker;
}

void WorkerProcess::send(const contract::FromSupervisor& message) {
  const std::string packet = contract::encode(message);
  if (::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  log::warn(
      "worker.unreachable", {{"pid", static_cast<int>(pid())}, {"error", std::strerror(errno)}}
  );
}

void WorkerProcess::receive() {
  static char buffer[contract::kMaxPacketBytes + 1];  // one more: longer is seen, not cut
  while (!ended_) {
    const ssize_t size = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (size > 0) {
      auto message = contract::decode_from_worker({buffer, static_cast<std::size_t>(size)});
      if (message) {
        events_.message(std::move(*message));
        continue;
      }
      ended_ = true;
      poll_->stop();
      return events_.broken(std::move(message.error()));
    }
    ended_ = true;
    poll_->stop();
    if (child_->running()) {
      return events_.broken({.kind = "socket_closed", .message = "The worker closed its socket."});
    }
  }
}

void WorkerProcess::kill() {
  child_->signal(SIGKILL);
}

void WorkerProcess::abort() {
  child_->signal(SIGABRT);
}

void WorkerProcess::on_exit(uv::ChildProcess::Exit exit) {
  receive();  // its last words
  // A copy: the callback may destroy this object.
  const auto exited = events_.exited;
  exited(exit);
}

}  // namespace pgflow::supervisor
