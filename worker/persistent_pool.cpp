// The persistent commands of one step: as many as its tasks need, each for as many tasks as it
// says; a dead one is replaced when the next task comes, after a pause that grows.
#include <algorithm>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "base/backoff.hpp"
#include "json/outline.hpp"
#include "worker/command.hpp"
#include "worker/command_limits.hpp"
#include "worker/line_protocol.hpp"
#include "worker/persistent_child.hpp"
#include "worker/step_runner.hpp"

namespace pgflow::worker {
namespace {

class PersistentPool {
 public:
  PersistentPool(Command command, bool with_flow_input)
      : shared_(std::move(command)), with_flow_input_(with_flow_input) {}

  ~PersistentPool() {
    const std::lock_guard lock(shared_.mutex);
    for (const auto& child : children_) child->close();
  }
  PersistentPool(const PersistentPool&) = delete;
  PersistentPool& operator=(const PersistentPool&) = delete;

  std::string run(const detail::Call& call) {
    if (const auto input = json::outline(call.input); !input) {
      throw JsonError("", input.error().message);
    }
    PersistentTask task{
        .call = &call,
        .members =
            protocol::task_members(call, with_flow_input_ ? call.load_flow_input() : std::string())
    };
    {
      const std::stop_callback wake(call.stop, [this] { wake_all(); });
      // Let go before the callback, which may be waiting for it.
      std::unique_lock lock(shared_.mutex);
      wait_for_room(lock, call).submit(task);
      shared_.changed.wait(lock, [&] { return task.answer != PersistentTask::Answer::none; });
    }
    switch (task.answer) {
      case PersistentTask::Answer::output:
        return std::move(task.text);
      case PersistentTask::Answer::permanent:
        throw PermanentFailure(task.text);
      case PersistentTask::Answer::none:
      case PersistentTask::Answer::failed:
        break;
    }
    throw_if_the_worker_must_end();
    throw std::runtime_error(task.text);
  }

 private:
  PersistentChild& wait_for_room(std::unique_lock<std::mutex>& lock, const detail::Call& call) {
    const int failures_before = failed_starts_;
    while (true) {
      bury_the_dead(lock);
      if (end_worker_) throw EndWorker(ExitCode::config, failure_);
      if (call.stop.stop_requested()) throw Aborted();
      if (failed_starts_ != failures_before) throw std::runtime_error(failure_);
      if (!no_room_.empty() && not_before_ >= call.deadline) throw std::runtime_error(no_room_);
      const auto room = std::find_if(children_.begin(), children_.end(), [](const auto& child) {
        return child->has_room();
      });
      if (room != children_.end()) return **room;
      const bool starting = std::any_of(children_.begin(), children_.end(), [](const auto& child) {
        return child->is_starting();
      });
      if (!starting && SteadyClock::now() >= not_before_) {
        start(call);
      } else if (!starting) {
        shared_.changed.wait_until(lock, not_before_);
      } else {
        shared_.changed.wait(lock);
      }
    }
  }

  void start(const detail::Call& first) {
    auto child = PersistentChild::start(shared_, *first.task);
    no_room_.clear();
    if (child) {
      children_.push_back(std::move(*child));
      no_room_pauses_.reset();
    } else if (child.error().kind == kNoRoomForCommand) {
      // Some room comes later: that costs the tasks time, not an attempt.
      no_room_ = child.error().message;
      not_before_ = SteadyClock::now() + no_room_pauses_.next();
      warn_of_no_room(first, no_room_, no_room_pauses_.failures());
    } else {
      failed(child.error().message);
    }
  }

  void failed(const std::string& why) {
    failure_ = why;
    ++failed_starts_;
    not_before_ = SteadyClock::now() + backoff_.next();
    shared_.changed.notify_all();
  }

  void bury_the_dead(std::unique_lock<std::mutex>& lock) {
    const auto first = std::stable_partition(
        children_.begin(), children_.end(), [](const auto& child) { return !child->is_dead(); }
    );
    if (first == children_.end()) return;
    std::vector<std::unique_ptr<PersistentChild>> dead(
        std::make_move_iterator(first), std::make_move_iterator(children_.end())
    );
    children_.erase(first, children_.end());
    for (const auto& child : dead) judge(*child);
    lock.unlock();
    dead.clear();  // joins its thread, which may still hold the mutex for a moment
    lock.lock();
  }

  void judge(const PersistentChild& child) {
    if (child.asks_to_end_the_worker()) {
      end_worker_ = true;
      failure_ = child.why();
    } else if (!child.was_ready()) {
      failed(child.why());
    } else {
      if (child.was_useful()) backoff_.reset();
      not_before_ = SteadyClock::now() + backoff_.next();
    }
  }

  void throw_if_the_worker_must_end() {
    std::unique_lock lock(shared_.mutex);
    bury_the_dead(lock);
    if (end_worker_) throw EndWorker(ExitCode::config, failure_);
  }

  void wake_all() {
    const std::lock_guard lock(shared_.mutex);
    for (const auto& child : children_) child->wake();
    shared_.changed.notify_all();
  }

  PersistentShared shared_;
  const bool with_flow_input_;
  // Guarded by the shared mutex.
  Backoff backoff_;
  SteadyClock::time_point not_before_{};
  int failed_starts_ = 0;
  std::string failure_;  // the last one
  Backoff no_room_pauses_{kNoRoomPauses};
  std::string no_room_;  // why the last try came to nothing
  bool end_worker_ = false;
  std::vector<std::unique_ptr<PersistentChild>> children_;
};

}  // namespace

void set_persistent(StepDefinition& step, Command command) {
  const bool is_root = step.kind == StepKind::single && step.depends_on.empty();
  step.handler_kind = HandlerKind::persistent;
  step.stop_grace = command.grace;
  step.needs_flow_input = !is_root;
  step.handler = std::make_shared<PersistentPool>(std::move(command), !is_root);
  step.invoke = [](const void* handler, const detail::Call& call) {
    // Calls of a pool guard themselves.
    return static_cast<PersistentPool*>(const_cast<void*>(handler))->run(call);
  };
}

}  // namespace pgflow::worker
