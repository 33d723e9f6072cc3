#include "worker/persistent_child.hpp"

#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "log/log.hpp"
#include "settings/duration.hpp"
#include "worker/command_environment.hpp"
#include "worker/command_limits.hpp"
#include "worker/line_protocol.hpp"

namespace pgflow::worker {
namespace {

using namespace std::chrono_literals;

constexpr int kBadConfig = 78;  // sysexits: EX_CONFIG
constexpr auto kReadyLimit = 10s;
// Between the end of its input and the kill: it has no task any more.
constexpr std::chrono::milliseconds kEndLimit{2'000};
constexpr auto kFarAway = SteadyClock::time_point::max();

std::string_view word_of(StopReason reason) {
  switch (reason) {
    case StopReason::shutdown:
      return "shutdown";
    case StopReason::cancelled:
      return "cancelled";
    case StopReason::none:
    case StopReason::timeout:
      break;
  }
  return "timeout";
}

}  // namespace

PersistentChild::PersistentChild(PersistentShared& shared, const TaskInfo& first)
    : shared_(shared), step_slug_(first.step_slug), log_([this](std::string_view line) {
        log::info("command.stderr", {{"step", step_slug_}, {"line", line}});
      }) {}

Result<std::unique_ptr<PersistentChild>> PersistentChild::start(
    PersistentShared& shared, const TaskInfo& first
) {
  std::unique_ptr<PersistentChild> child(new PersistentChild(shared, first));
  PersistentChild* self = child.get();
  const Command& command = shared.command;
  auto started = CommandChild::start(
      command.arguments,
      command_environment(command, first),
      command.folder,
      {.out = [self](std::string_view bytes) { self->take(bytes); },
       .error =
           [self](std::string_view bytes) {
             self->tail_.add(bytes);
             self->log_.add(bytes);
           }}
  );
  if (!started) return tl::unexpected(std::move(started.error()));
  child->child_ = std::move(*started);
  child->outbox_ = protocol::hello_line();
  child->ready_limit_ = SteadyClock::now() + kReadyLimit;
  try {
    child->thread_ = std::thread([self] { self->live(); });
  } catch (const std::system_error& error) {
    return fail(
        {.kind = std::string(kNoRoomForCommand),
         .message = "cannot make a thread for " + command.arguments[0] + ": " + error.what()}
    );
  }
  return child;
}

PersistentChild::~PersistentChild() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(shared_.mutex);
    close();
  }
  thread_.join();
}

void PersistentChild::close() {
  closing_ = true;
  child_->wake();
}

bool PersistentChild::asks_to_end_the_worker() const {
  return dead_ && child_->end()->signal == 0 && child_->end()->code == kBadConfig;
}

void PersistentChild::submit(PersistentTask& task) {
  const std::string id = std::to_string(++last_id_);
  task.last_heard = SteadyClock::now();
  outbox_ += protocol::task_line(id, task.members);
  tasks_.emplace(id, &task);
  child_->wake();
}

// --- the thread

void PersistentChild::live() {
  while (!child_->pump([this] {
    const std::lock_guard lock(shared_.mutex);
    look();
    if (!outbox_.empty()) log_.refill();
    child_->write(std::exchange(outbox_, {}));
    return next_look();
  }())) {
    continue;
  }
  die();
}

SteadyClock::time_point PersistentChild::next_look() const {
  SteadyClock::time_point next = end_limit_.value_or(kFarAway);
  if (concurrency_ == 0) next = std::min(next, ready_limit_);
  for (const auto& [id, task] : tasks_) {
    if (task->kill_at) {
      next = std::min(next, *task->kill_at);
    } else if (shared_.command.heartbeat) {
      next = std::min(next, task->last_heard + *shared_.command.heartbeat);
    }
  }
  return next;
}

void PersistentChild::look() {
  const auto now = SteadyClock::now();
  if (!why_.empty()) return child_->signal(SIGKILL);
  if (closing_) {
    if (!end_limit_) {
      end_limit_ = now + kEndLimit;
      child_->close_input();
    } else if (now >= *end_limit_) {
      child_->signal(SIGKILL);
      end_limit_ = kFarAway;
    }
    return;
  }
  if (concurrency_ == 0 && now >= ready_limit_) {
    return break_off("did not say that it is ready within 10 s");
  }
  const auto& heartbeat = shared_.command.heartbeat;
  for (auto& [id, task] : tasks_) {
    if (task->kill_at) {
      if (now >= *task->kill_at) return break_off("was killed: it did not answer a cancel in time");
      continue;
    }
    if (task->call->stop.stop_requested()) {
      const auto* reason = task->call->stop_reason;
      task->kill_at = now + patience(shared_.command, *task->call);
      outbox_ += protocol::cancel_line(id, word_of(reason ? reason->load() : StopReason::timeout));
    } else if (heartbeat && now >= task->last_heard + *heartbeat) {
      task->was_silent = true;
      task->kill_at = now + shared_.command.grace;
      outbox_ += protocol::cancel_line(id, "silent");
    }
  }
}

void PersistentChild::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    partial_line_ += bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (partial_line_.size() > kMostOutput) {
      partial_line_ = {};
      const std::lock_guard lock(shared_.mutex);
      return break_off(
          "broke the protocol: a line is longer than " + std::to_string(kMostOutput >> 20U) + " MiB"
      );
    }
    if (end != std::string_view::npos) hear(std::exchange(partial_line_, {}));
  }
}

void PersistentChild::hear(std::string_view line) {
  auto message = protocol::read_line(line);
  const std::lock_guard lock(shared_.mutex);
  if (!why_.empty()) return;
  if (!message) return break_off(std::move(message.error().message));
  std::visit([this](auto& said) { hear(said); }, *message);
}

void PersistentChild::hear(const protocol::Ready& ready) {
  concurrency_ = ready.concurrency;
  shared_.changed.notify_all();
}

void PersistentChild::hear(protocol::Output& output) {
  if (shared_.command.output == Command::Output::array && !output.json.starts_with('[')) {
    return answer(
        output.id,
        PersistentTask::Answer::failed,
        "an array step returns a JSON array, got " + beginning(output.json)
    );
  }
  answer(output.id, PersistentTask::Answer::output, std::move(output.json));
}

void PersistentChild::hear(protocol::Failure& failure) {
  const PersistentTask* task = heard_of(failure.id);
  if (task != nullptr && task->was_silent) {
    failure.message = silent() + ": " + failure.message;
  }
  answer(
      failure.id,
      failure.retryable ? PersistentTask::Answer::failed : PersistentTask::Answer::permanent,
      std::move(failure.message)
  );
}

void PersistentChild::hear(const protocol::LogLine& line) {
  if (PersistentTask* task = heard_of(line.id)) {
    std::vector<LogField> fields;
    for (const auto& [key, value] : line.fields) fields.push_back({key, value});
    return task->call->log->write(line.level, line.message, fields);
  }
  std::vector<log::Field> all{{"step", step_slug_}};
  for (const auto& [key, value] : line.fields) all.emplace_back(key, value);
  log::write(static_cast<log::Level>(line.level), line.message, all);
}

void PersistentChild::hear(const protocol::Heartbeat& heartbeat) {
  heard_of(heartbeat.id);
}

void PersistentChild::hear(const protocol::Other& other) {
  heard_of(other.id);
}

PersistentTask* PersistentChild::heard_of(const std::string& id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return nullptr;
  found->second->last_heard = SteadyClock::now();
  return found->second;
}

std::string PersistentChild::silent() const {
  return "silent for " + settings::duration_text(*shared_.command.heartbeat);
}

// Of a task that it does not hold: answered twice, or killed meanwhile.
void PersistentChild::answer(
    const std::string& id, PersistentTask::Answer answer, std::string text
) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return;
  found->second->answer = answer;
  found->second->text = std::move(text);
  tasks_.erase(found);
  if (answer == PersistentTask::Answer::output) ++answered_;
  shared_.changed.notify_all();
}

// What it holds fails when it has ended.
void PersistentChild::break_off(std::string why) {
  why_ = std::move(why);
  child_->signal(SIGKILL);
}

void PersistentChild::die() {
  if (!partial_line_.empty()) hear(std::exchange(partial_line_, {}));
  log_.end();
  const std::lock_guard lock(shared_.mutex);
  const CommandEnd& end = *child_->end();
  if (end.leftovers > 0) {
    log::warn("command.leftovers_killed", {{"step", step_slug_}, {"processes", end.leftovers}});
  }
  if (why_.empty()) {
    why_ = describe_end(end);
    if (tasks_.size() > 1) {
      why_ += ", with " + std::to_string(tasks_.size()) + " tasks at once in its hands";
    }
    const std::string words = tail_.text();
    if (!words.empty()) why_ += ": " + words;
  }
  dead_ = true;
  while (!tasks_.empty()) {
    const auto& [id, task] = *tasks_.begin();
    std::string why = why_;
    if (task->was_silent) {
      why = silent() + "; the command " + why;
    }
    answer(std::string(id), PersistentTask::Answer::failed, std::move(why));
  }
  shared_.changed.notify_all();
}

}  // namespace pgflow::worker
