// One persistent command: a thread that speaks the line protocol with it, and the tasks in its
// hands.
#pragma once

#include <pgflow/context.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "worker/command.hpp"
#include "worker/command_child.hpp"
#include "worker/command_output.hpp"
#include "worker/line_protocol.hpp"

namespace pgflow::worker {

// One task on its way through a child. Its thread waits until there is an answer.
struct PersistentTask {
  enum class Answer { none, output, failed, permanent };

  const detail::Call* call = nullptr;
  std::string members{};  // of its message, behind the id
  Answer answer = Answer::none;
  std::string text{};  // the output as JSON, or why it failed
  // The child's:
  SteadyClock::time_point last_heard{};
  std::optional<SteadyClock::time_point> kill_at{};  // a cancel was sent
  bool was_silent = false;
};

// What the children of one step share. The mutex guards every child's members too.
struct PersistentShared {
  explicit PersistentShared(Command what) : command(std::move(what)) {}

  const Command command;
  std::mutex mutex;
  std::condition_variable changed;
};

class PersistentChild {
 public:
  // Starts the command and says hello.
  static Result<std::unique_ptr<PersistentChild>> start(
      PersistentShared& shared, const TaskInfo& first
  );
  // Waits for its end. Not under the mutex.
  ~PersistentChild();
  PersistentChild(const PersistentChild&) = delete;
  PersistentChild& operator=(const PersistentChild&) = delete;

  // --- under the mutex
  bool is_starting() const { return !dead_ && concurrency_ == 0; }
  bool has_room() const { return !dead_ && static_cast<int>(tasks_.size()) < concurrency_; }
  void submit(PersistentTask& task);
  // Its input ends; it is killed after a grace.
  void close();
  // Something about a task's stop token has changed.
  void wake() { child_->wake(); }
  bool is_dead() const { return dead_; }
  // Of a dead one.
  bool was_ready() const { return concurrency_ > 0; }
  bool was_useful() const { return answered_ > 0; }
  const std::string& why() const { return why_; }
  bool asks_to_end_the_worker() const;

 private:
  PersistentChild(PersistentShared& shared, const TaskInfo& first);

  void live();
  SteadyClock::time_point next_look() const;
  void look();
  void take(std::string_view bytes);
  void hear(std::string_view line);
  void hear(const protocol::Ready& ready);
  void hear(protocol::Output& output);
  void hear(protocol::Failure& failure);
  void hear(const protocol::LogLine& line);
  void hear(const protocol::Heartbeat& heartbeat);
  void hear(const protocol::Other& other);
  PersistentTask* heard_of(const std::string& id);
  std::string silent() const;
  void answer(const std::string& id, PersistentTask::Answer answer, std::string text);
  void break_off(std::string why);
  void die();

  PersistentShared& shared_;
  const std::string step_slug_;
  // The thread's own.
  std::unique_ptr<CommandChild> child_;
  std::string partial_line_;
  SteadyClock::time_point ready_limit_;
  std::optional<SteadyClock::time_point> end_limit_;
  Tail tail_;
  LineLog log_;
  // Guarded by the shared mutex.
  std::map<std::string, PersistentTask*> tasks_;  // by the id of the protocol
  std::string outbox_;
  std::uint64_t last_id_ = 0;
  int concurrency_ = 0;  // 0: not ready yet
  int answered_ = 0;
  bool closing_ = false;
  bool dead_ = false;
  std::string why_;  // it was, or must be, ended

  std::thread thread_;  // last: it uses all the others
};

}  // namespace pgflow::worker
