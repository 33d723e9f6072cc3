#include "uv/child_process.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace pgflow::uv {
namespace {

struct Awaited {
  std::mutex mutex;
  std::set<pid_t> pids;  // Guarded by mutex.
};

Awaited& awaited() {
  static Awaited all;
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<uv_stdio_container_t> containers(const std::vector<std::pair<int, int>>& descriptors) {
  constexpr int kStandard = 3;
  int count = kStandard;
  for (const auto& [here, there] : descriptors) count = std::max(count, there + 1);
  std::vector<uv_stdio_container_t> result(static_cast<std::size_t>(count));
  for (uv_stdio_container_t& container : result) container.flags = UV_IGNORE;
  for (const auto& [here, there] : descriptors) {
    result[static_cast<std::size_t>(there)].flags = UV_INHERIT_FD;
    result[static_cast<std::size_t>(there)].data.fd = here;
  }
  return result;
}

}  // namespace

ChildProcess::ChildProcess(Loop& loop, std::function<void(Exit)> on_exit)
    : loop_(loop), on_exit_(std::move(on_exit)) {}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(
    Loop& loop, const ChildCommand& command, std::function<void(Exit)> on_exit
) {
  // A parent-death signal follows the thread that forks.
  loop.assert_owned();
  std::unique_ptr<ChildProcess> child(new ChildProcess(loop, std::move(on_exit)));

  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = command.environment.value_or(std::vector<std::string>{});
  std::vector<char*> argument_pointers = pointers(arguments);
  std::vector<char*> environment_pointers = pointers(environment);
  std::vector<uv_stdio_container_t> stdio = containers(command.descriptors);

  uv_process_options_t options{};
  options.exit_cb = &ChildProcess::on_exit;
  options.file = arguments.at(0).c_str();
  options.args = argument_pointers.data();
  options.env = command.environment ? environment_pointers.data() : nullptr;
  options.cwd = command.folder.empty() ? nullptr : command.folder.c_str();
  options.flags = command.new_session ? static_cast<unsigned>(UV_PROCESS_DETACHED) : 0U;
  options.stdio_count = static_cast<int>(stdio.size());
  options.stdio = stdio.data();

  auto raw = std::make_unique<uv_process_t>();
  const int result = uv_spawn(loop.raw(), raw.get(), &options);
  raw->data = child.get();
  // After a failed uv_spawn the handle is initialised all the same and has to be closed.
  child->handle_.reset(raw.release());
  if (result != 0) {
    return fail({
        .kind = "spawn",
        .message = "cannot start " + arguments[0],
        .detail = uv_strerror(result),
        .hint = result == UV_EAGAIN || result == UV_ENOMEM
                    ? "a limit is reached: of processes or memory (ulimit -u, -v; pids.max)"
                    : "check that the program is there and may be executed",
    });
  }
  child->pid_ = child->handle_->pid;
  child->running_ = true;
  const std::lock_guard lock(awaited().mutex);
  awaited().pids.insert(child->pid_);
  return child;
}

ChildProcess::~ChildProcess() {
  const std::lock_guard lock(awaited().mutex);
  if (running_) awaited().pids.erase(pid_);
}

void ChildProcess::signal(int number) {
  if (running_) uv_process_kill(handle_.get(), number);
}

bool ChildProcess::awaits(pid_t pid) {
  const std::lock_guard lock(awaited().mutex);
  return awaited().pids.contains(pid);
}

void ChildProcess::on_exit(uv_process_t* handle, std::int64_t status, int signal) noexcept {
  auto* self = static_cast<ChildProcess*>(handle->data);
  if (self == nullptr) return;
  guarded(self->loop_, [&] {
    self->running_ = false;
    {
      const std::lock_guard lock(awaited().mutex);
      awaited().pids.erase(self->pid_);
    }
    // The callback may destroy this object.
    auto callback = self->on_exit_;
    callback({static_cast<int>(status), signal});
  });
}

}  // namespace pgflow::uv
