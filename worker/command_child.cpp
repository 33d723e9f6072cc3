#include "worker/command_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pgflow::worker {
namespace {

using namespace std::chrono_literals;

// Orphans that end meanwhile are reaped at least so often.
constexpr auto kLongestPoll = 1s;

constexpr int kPipeBytes = 1 << 20;

struct Pipe {
  UniqueFd ours;
  UniqueFd theirs;
};

// The child's end blocks: programs do not expect anything else.
std::optional<Pipe> make_pipe(bool child_reads) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{UniqueFd(ends[child_reads ? 1 : 0]), UniqueFd(ends[child_reads ? 0 : 1])};
  fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
  // Fewer changes between the two of us; the default will do when the system has no more.
  fcntl(pipe.ours.get(), F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

// A child that closes its stdin must not end us. Per thread: what a process ignores, others may
// unignore.
void block_broken_pipe_signal() {
  static thread_local const bool blocked = [] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0;
  }();
  static_cast<void>(blocked);
}

}  // namespace

Result<std::unique_ptr<CommandChild>> CommandChild::start(
    std::vector<std::string> arguments,
    std::vector<std::string> environment,
    std::string folder,
    Events events
) {
  std::unique_ptr<CommandChild> child(new CommandChild);
  auto in = make_pipe(true);
  auto out = make_pipe(false);
  auto error = make_pipe(false);
  child->wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!in || !out || !error || !child->wake_) {
    return fail(
        {.kind = std::string(kind_of_failed_start(errno)),
         .message = std::string("cannot make pipes for a command: ") + std::strerror(errno)}
    );
  }
  auto started = start_command({
      .arguments = std::move(arguments),
      .environment = std::move(environment),
      .folder = std::move(folder),
      .standard_input = in->theirs.get(),
      .standard_output = out->theirs.get(),
      .standard_error = error->theirs.get(),
  });
  if (!started) return tl::unexpected(std::move(started.error()));
  child->process_ = std::move(*started);
  child->in_ = std::move(in->ours);
  child->out_ = std::move(out->ours);
  child->error_ = std::move(error->ours);
  child->events_ = std::move(events);
  return child;
}

CommandChild::~CommandChild() {
  if (!process_.ended || end_) return;
  signal(SIGKILL);
  events_ = {};
  while (!pump(SteadyClock::now() + kLongestPoll)) continue;
}

bool CommandChild::pump(SteadyClock::time_point until) {
  block_broken_pipe_signal();
  while (!end_) {
    if (fed_ == input_.size() && input_ends_) in_.reset();
    const bool feeding = fed_ < input_.size();
    // poll() passes over negative descriptors.
    std::array<pollfd, 5> fds{{
        {wake_.get(), POLLIN, 0},
        {process_.ended.get(), POLLIN, 0},
        {feeding ? in_.get() : -1, POLLOUT, 0},
        {out_.get(), POLLIN, 0},
        {error_.get(), POLLIN, 0},
    }};
    const auto now = SteadyClock::now();
    const auto next = std::min(until, now + kLongestPoll);
    const auto pause = std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(next - now));
    const int ready = poll(fds.data(), fds.size(), static_cast<int>(pause.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0) reap_strangers();
    if (fds[2].revents != 0) feed();
    if (fds[3].revents != 0) read_some(out_, events_.out);
    if (fds[4].revents != 0) read_some(error_, events_.error);
    if (fds[1].revents != 0) {
      end_ = reap_command(process_.pid);
      read_out(out_, events_.out);
      read_out(error_, events_.error);
    }
    if (fds[0].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(read(wake_.get(), &count, sizeof count));
      break;
    }
    if (SteadyClock::now() >= until) break;
  }
  return end_.has_value();
}

void CommandChild::wake() {
  const std::uint64_t one = 1;
  // It cannot fail but by being full, and then the wake is there already.
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

void CommandChild::signal(int number) {
  if (!end_) signal_command(process_.pid, number);
}

void CommandChild::feed() {
  const ssize_t count = ::write(in_.get(), input_.data() + fed_, input_.size() - fed_);
  if (count > 0) fed_ += static_cast<std::size_t>(count);
  if (count < 0 && errno != EAGAIN && errno != EINTR) {
    // It does not want the rest.
    input_ends_ = true;
    fed_ = input_.size();
  }
  if (fed_ == input_.size()) {
    input_.clear();
    fed_ = 0;
  }
}

// How many; 0 when there are none now. Closes the pipe at its end.
std::size_t CommandChild::read_some(UniqueFd& pipe, const Sink& sink) {
  buffer_.resize(kPipeBytes / 4);
  const ssize_t count = read(pipe.get(), buffer_.data(), buffer_.size());
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) pipe.reset();
  if (count <= 0) return 0;
  const auto bytes = static_cast<std::size_t>(count);
  if (sink) sink(std::string_view(buffer_).substr(0, bytes));
  return bytes;
}

// What the command wrote before its end lies in the pipe, and that is no more than a pipe holds:
// what comes behind is of a process that we could not find.
void CommandChild::read_out(UniqueFd& pipe, const Sink& sink) {
  const int holds = pipe ? fcntl(pipe.get(), F_GETPIPE_SZ) : 0;
  std::size_t left = holds > 0 ? static_cast<std::size_t>(holds) : 0;
  while (left > 0 && pipe) {
    const std::size_t count = read_some(pipe, sink);
    if (count == 0) break;
    left -= std::min(left, count);
  }
  pipe.reset();
}

std::string describe_end(const CommandEnd& end) {
  if (end.signal == 0) return "exited with " + std::to_string(end.code);
  const char* name = sigabbrev_np(end.signal);
  std::string text = "died of ";
  text += name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(end.signal);
  if (end.signal == SIGKILL) text += " (killed from outside; a machine out of memory does that)";
  return text;
}

}  // namespace pgflow::worker
