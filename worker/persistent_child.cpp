#include "worker/persistent_child.hpp"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "json/outline.hpp"
#include "json/writer.hpp"
#include "log/log.hpp"
#include "settings/duration.hpp"
#include "worker/command_environment.hpp"
#include "worker/command_limits.hpp"

namespace pgflow::worker {
namespace {

using namespace std::chrono_literals;

constexpr int kProtocol = 1;
constexpr int kBadConfig = 78;  // sysexits: EX_CONFIG
constexpr auto kReadyLimit = 10s;
// Between the end of its input and the kill: it has no task any more.
constexpr std::chrono::milliseconds kEndLimit{2'000};
constexpr auto kFarAway = SteadyClock::time_point::max();
constexpr int kMostConcurrency = 10'000;

// A member as text, as whole number, as truth; the fallback when it is nothing of the kind.
std::string text_in(const json::Outline& message, std::string_view key) {
  const auto value = json::parse(message.find(key));
  if (!value) return "";
  return value->type == json::Type::string ? value->text : json::text_of(*value);
}
int number_in(const json::Outline& message, std::string_view key, int fallback) {
  const std::string_view text = message.find(key);
  if (text.empty()) return fallback;
  const auto value = json::parse(text);
  const auto number = value ? value->as_int64() : std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>(number.value_or(-1), -1, kMostConcurrency));
}

Logger::Level level_in(const json::Outline& message) {
  const auto level = log::parse_level(text_in(message, "level"));
  return level ? static_cast<Logger::Level>(*level) : Logger::Level::info;
}

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
  child->outbox_ = R"({"type":"hello","protocol":1})"
                   "\n";
  child->ready_limit_ = SteadyClock::now() + kReadyLimit;
  child->thread_ = std::thread([self] { self->live(); });
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
  json::Writer start;
  start.begin_object().key("type").string("task").key("id").string(id).end_object();
  std::string line = start.take();
  line.pop_back();
  outbox_ += line + "," + task.line + "\n";
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
      cancel(id, word_of(reason ? reason->load() : StopReason::timeout));
    } else if (heartbeat && now >= task->last_heard + *heartbeat) {
      task->was_silent = true;
      task->kill_at = now + shared_.command.grace;
      cancel(id, "silent");
    }
  }
}

void PersistentChild::cancel(const std::string& id, std::string_view reason) {
  json::Writer out;
  out.begin_object().key("type").string("cancel").key("id").string(id);
  out.key("reason").string(reason).end_object();
  outbox_ += out.take() + "\n";
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
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const auto message = json::outline(line);
  const std::lock_guard lock(shared_.mutex);
  if (!why_.empty()) return;
  if (!message || message->type != json::Type::object) {
    return break_off(
        "broke the protocol: a line of stdout is no JSON object: " + beginning(line) +
        (message ? "" : " (" + message.error().message + ")")
    );
  }
  const std::string type = text_in(*message, "type");
  if (type == "ready") return become_ready(*message);
  if (PersistentTask* task = task_of(*message)) task->last_heard = SteadyClock::now();
  if (type == "result" || type == "error") return settle(*message, type == "result");
  if (type == "log") note(*message);
}

void PersistentChild::become_ready(const json::Outline& message) {
  const int concurrency = number_in(message, "concurrency", 1);
  if (number_in(message, "protocol", kProtocol) != kProtocol || concurrency < 1) {
    return break_off(
        "broke the protocol: cannot work with " + beginning(text_in(message, "type")) +
        " of protocol " + text_in(message, "protocol") + " and concurrency " +
        text_in(message, "concurrency")
    );
  }
  concurrency_ = concurrency;
  shared_.changed.notify_all();
}

void PersistentChild::settle(const json::Outline& message, bool is_result) {
  PersistentTask* task = task_of(message);
  if (task == nullptr) return;  // answered twice, or killed meanwhile
  const std::string id = text_in(message, "id");
  if (!message.unstorable.empty()) {
    return answer(
        id, PersistentTask::Answer::failed, "its answer cannot be stored: " + message.unstorable
    );
  }
  if (is_result) {
    const std::string_view output = message.find("output");
    const bool fits = shared_.command.output != Command::Output::array || output.starts_with('[');
    if (!fits) {
      return answer(
          id,
          PersistentTask::Answer::failed,
          "an array step returns a JSON array, got " + beginning(output)
      );
    }
    return answer(
        id, PersistentTask::Answer::output, output.empty() ? "null" : std::string(output)
    );
  }
  std::string why = text_in(message, "message");
  if (why.empty()) why = "the command gave no reason";
  if (task->was_silent) {
    why = "silent for " + settings::duration_text(*shared_.command.heartbeat) + ": " + why;
  }
  const bool is_final = message.find("retryable") == "false";
  answer(
      id,
      is_final ? PersistentTask::Answer::permanent : PersistentTask::Answer::failed,
      std::move(why)
  );
}

void PersistentChild::note(const json::Outline& message) {
  const std::string text = text_in(message, "message");
  std::vector<LogField> fields;
  const auto given = json::parse(message.find("fields"));
  if (given) {
    for (const auto& member : given->members) {
      const bool is_text = member.value.type == json::Type::string;
      fields.push_back({member.name, is_text ? member.value.text : json::text_of(member.value)});
    }
  }
  if (PersistentTask* task = task_of(message)) {
    return task->call->log->write(level_in(message), text, fields);
  }
  std::vector<log::Field> all{{"step", step_slug_}};
  for (const LogField& field : fields) all.emplace_back(field.key, field.value);
  log::write(static_cast<log::Level>(level_in(message)), text, all);
}

PersistentTask* PersistentChild::task_of(const json::Outline& message) {
  const auto found = tasks_.find(text_in(message, "id"));
  return found == tasks_.end() ? nullptr : found->second;
}

void PersistentChild::answer(
    const std::string& id, PersistentTask::Answer answer, std::string text
) {
  const auto found = tasks_.find(id);
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
    const std::string words = tail_.text();
    if (!words.empty()) why_ += ": " + words;
  }
  dead_ = true;
  while (!tasks_.empty()) {
    const auto& [id, task] = *tasks_.begin();
    std::string why = why_;
    if (task->was_silent) {
      why = "silent for " + settings::duration_text(*shared_.command.heartbeat) + "; the command " +
            why;
    }
    answer(std::string(id), PersistentTask::Answer::failed, std::move(why));
  }
  shared_.changed.notify_all();
}

}  // namespace pgflow::worker
