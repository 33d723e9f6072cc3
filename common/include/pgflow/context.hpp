// What a handler may ask for beside its input; each further parameter is a requirement, checked
// before a worker starts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/error.hpp>
#include <pgflow/json.hpp>
#include <pgflow/sql.hpp>

namespace pgflow {

// The task in hand. Ids as the database knows them.
struct TaskInfo {
  std::string flow_slug{};   // of the flow
  std::string run_id{};      // UUID
  std::string step_slug{};   // of the step
  int task_index = 0;        // position in a map step's array, 0 otherwise
  std::int64_t msg_id = 0;   // the task's PGMQ message
  std::string queue_name{};  // where the message came from
  std::string worker_id{};   // UUID, fresh for each worker process
  int attempt = 1;           // this one, counted from 1
  int max_attempts = 1;      // in all
};

// Why a handler is asked to stop.
enum class StopReason {
  none,       // it is not
  timeout,    // the step's time is up: the attempt fails
  shutdown,   // the worker ends: the task is given back, its attempt does not count
  cancelled,  // nobody wants the result any more: nothing is recorded
};

// One `key=value` of a log line.
struct LogField {
  std::string_view key;  // the name, a constant
  std::string value;     // as text
};
// A field from any value: texts as they are, the rest as JSON.
template <class T>
LogField kv(std::string_view key, const T& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    return {key, std::string(std::string_view(value))};
  } else {
    return {key, to_json(value)};
  }
}

// Lines written here carry the task's ids. May be called from any thread while the handler runs.
class Logger {
 public:
  // How much it matters.
  enum class Level { debug, info, warn, error };

  virtual ~Logger() = default;
  // One line; the four below are the usual way.
  virtual void write(Level, std::string_view message, const std::vector<LogField>&) = 0;

  // For whoever looks into a problem.
  template <class... F>
  void debug(std::string_view message, F... fields) {
    write(Level::debug, message, {std::move(fields)...});
  }
  // What happens.
  template <class... F>
  void info(std::string_view message, F... fields) {
    write(Level::info, message, {std::move(fields)...});
  }
  // What somebody should look at.
  template <class... F>
  void warn(std::string_view message, F... fields) {
    write(Level::warn, message, {std::move(fields)...});
  }
  // What somebody must look at.
  template <class... F>
  void error(std::string_view message, F... fields) {
    write(Level::error, message, {std::move(fields)...});
  }
};

namespace detail {

// Resources are found by the address of a variable a type, not by RTTI.
using ResourceKey = const void*;
template <class T>
inline constexpr char resource_tag = 0;
template <class T>
constexpr ResourceKey resource_key() {
  return &resource_tag<std::remove_const_t<T>>;
}

struct Bound {
  ResourceKey key;
  void* object;
};

struct Factory {
  ResourceKey key;
  std::function<std::shared_ptr<void>()> make;
};

// What the caller of EdgeWorker::start or pgflow::main lent.
struct Resources {
  std::vector<Bound> shared;
  std::vector<Factory> each_thread;
};

// One handler thread's view: the shared objects and its own. Made on that thread, used on it alone.
class ThreadResources {
 public:
  explicit ThreadResources(const Resources& lent) : bound_(lent.shared) {
    for (const Factory& factory : lent.each_thread) {
      owned_.push_back(factory.make());
      bound_.push_back({factory.key, owned_.back().get()});
    }
  }
  const std::vector<Bound>& bound() const { return bound_; }

 private:
  std::vector<Bound> bound_;
  std::vector<std::shared_ptr<void>> owned_;
};

// Everything the runtime hands to one handler call. Pointers must outlive the call.
struct Call {
  std::string_view input;  // JSON: flow input (root), object of outputs (dependent), element (map)
  // The run's input as JSON; called at most once, only by steps with needs_flow_input.
  std::function<std::string()> load_flow_input;
  const TaskInfo* task = nullptr;
  std::stop_token stop;  // fires at the deadline and when the worker must stop
  const std::atomic<StopReason>* stop_reason = nullptr;  // set before `stop` fires; null: none
  std::chrono::steady_clock::time_point deadline{};
  Logger* log = nullptr;
  const std::vector<Bound>* resources = nullptr;

  void* find(ResourceKey key) const {
    if (resources) {
      for (const Bound& bound : *resources) {
        if (bound.key == key) {
          return bound.object;
        }
      }
    }
    return nullptr;
  }
};

}  // namespace detail

// The task's surroundings. Valid while the handler runs.
class Context {
 public:
  // Made by the worker for each call.
  explicit Context(const detail::Call& call) : call_(&call) {}

  // All ids.
  const TaskInfo& task() const { return *call_->task; }
  // The run, a UUID.
  const std::string& run_id() const { return call_->task->run_id; }
  // This attempt, counted from 1.
  int attempt() const { return call_->task->attempt; }
  // No retry follows a failure of this attempt.
  bool last_attempt() const { return call_->task->attempt >= call_->task->max_attempts; }
  // When this attempt counts as timed out.
  std::chrono::steady_clock::time_point deadline() const { return call_->deadline; }
  // Stops at the deadline, when the worker must end, and within seconds when nobody wants the
  // result any more: a long handler should look at it.
  std::stop_token stop_token() const { return call_->stop; }
  // Why the token has stopped; none while it has not.
  StopReason stop_reason() const {
    return call_->stop_reason ? call_->stop_reason->load() : StopReason::none;
  }
  // Throws Aborted once a stop was requested.
  void throw_if_stopped() const {
    if (call_->stop.stop_requested()) {
      throw Aborted();
    }
  }
  // Writes lines with the ids of the task.
  Logger& log() const { return *call_->log; }

 private:
  const detail::Call* call_;
};

// The run's input in a step that is no root: read on first use, at most once a task. T is the
// flow's input type.
template <class T>
class FlowInput {
 public:
  // Made by the worker for each call.
  explicit FlowInput(const detail::Call& call) : call_(&call) {}
  // For unit tests that call a handler directly.
  explicit FlowInput(T value) : value_(std::move(value)) {}

  // The value, read now if it was not.
  const T& operator*() const {
    if (!value_) {
      value_ = from_json<T>(call_->load_flow_input());
    }
    return *value_;
  }
  // A member of it.
  const T* operator->() const { return &**this; }

 private:
  const detail::Call* call_ = nullptr;
  mutable std::optional<T> value_;
};

// An object lent to handlers; made by the two functions below.
template <class T>
struct Provided {
  using type = T;                                 // as the caller names it
  T* shared = nullptr;                            // the one object, or
  std::function<std::shared_ptr<void>()> make{};  // what makes one for each thread
};

// Lends one object to every handler call. It must outlive the worker and be safe to use from
// several threads. A const object serves `const T&` parameters only.
template <class T>
Provided<T> resource(T& object) {
  return {&object, {}};
}

// One T for each handler thread, made on that thread by `make()`.
template <class T, class F>
Provided<T> each_thread(F make) {
  return {nullptr, [make = std::move(make)] {
            return std::make_shared<std::remove_const_t<T>>(make());
          }};
}

namespace detail {

template <class... P>
Resources lend(const Provided<P>&... provided) {
  Resources lent;
  [[maybe_unused]] const auto add = [&lent]<class T>(const Provided<T>& one) {
    if (one.shared) {
      // A const object is lent to `const T&` parameters only; the compiler has checked that.
      lent.shared.push_back({resource_key<T>(), const_cast<std::remove_const_t<T>*>(one.shared)});
    } else {
      lent.each_thread.push_back({resource_key<T>(), one.make});
    }
  };
  (add(provided), ...);
  return lent;
}

}  // namespace detail

}  // namespace pgflow
