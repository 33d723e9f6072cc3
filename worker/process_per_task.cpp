// A command as a Unix filter: started for one task, input on stdin, output on stdout, the exit code
// decides.
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "base/backoff.hpp"
#include "json/outline.hpp"
#include "worker/command.hpp"
#include "worker/command_child.hpp"
#include "worker/command_environment.hpp"
#include "worker/command_limits.hpp"
#include "worker/command_output.hpp"

namespace pgflow::worker {
namespace {

constexpr int kTemporary = 75;  // sysexits: EX_TEMPFAIL
constexpr int kBadData = 65;    // EX_DATAERR
constexpr int kBadConfig = 78;  // EX_CONFIG
constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class FilterRun {
 public:
  FilterRun(const Command& command, const detail::Call& call)
      : command_(command),
        call_(call),
        error_log_([this](std::string_view line) { log("command.stderr", line); }),
        out_log_([this](std::string_view line) { log("command.stdout", line); }) {}

  std::string run() {
    if (const auto input = json::outline(call_.input); !input) {
      throw JsonError("", input.error().message);
    }
    start();
    child_->write(call_.input);
    child_->close_input();
    wait();
    error_log_.end();
    out_log_.end();
    return judge();
  }

 private:
  // A system that has no room for a process has some later: that costs time, not an attempt.
  void start() {
    Backoff pauses(kNoRoomPauses);
    while (true) {
      auto started = CommandChild::start(
          command_.arguments,
          task_environment(command_, call_),
          command_.folder,
          {.out = [this](std::string_view bytes) { out(bytes); },
           .error = [this](std::string_view bytes) { error(bytes); }}
      );
      if (started) {
        child_ = std::move(*started);
        return;
      }
      const Error& why = started.error();
      const auto again = SteadyClock::now() + pauses.next();
      if (why.kind != kNoRoomForCommand || again >= call_.deadline) {
        throw std::runtime_error(why.message);
      }
      warn_of_no_room(call_, why.message, pauses.failures());
      pause_until(again);
      if (call_.stop.stop_requested()) throw Aborted();
    }
  }

  void pause_until(SteadyClock::time_point end) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_until(lock, call_.stop, end, [] { return false; });
  }

  void wait() {
    const std::stop_callback wake(call_.stop, [this] { child_->wake(); });
    auto kill_at = SteadyClock::time_point::max();
    while (!child_->pump(kill_at)) {
      if (overflowed_) child_->signal(SIGKILL);
      if (!call_.stop.stop_requested()) continue;
      if (!stopped_) {
        stopped_ = true;
        child_->signal(SIGTERM);
        kill_at = SteadyClock::now() + patience(command_, call_);
      } else if (SteadyClock::now() >= kill_at) {
        child_->signal(SIGKILL);
        kill_at = SteadyClock::time_point::max();
      }
    }
  }

  // What the end means for the task.
  std::string judge() {
    const CommandEnd& end = *child_->end();
    if (end.leftovers > 0) {
      call_.log->warn(
          "command.leftovers_killed",
          kv("step", call_.task->step_slug),
          kv("processes", end.leftovers)
      );
    }
    if (stopped_) throw Aborted();
    if (overflowed_) {
      throw std::runtime_error(
          "printed more than " + std::to_string(kMostOutput >> 20U) + " MiB on stdout"
      );
    }
    if (end.signal != 0) throw std::runtime_error(with_last_words(describe_end(end)));
    switch (end.code) {
      case 0:
        return output();
      case kBadData:
      case kBadConfig:
        throw PermanentFailure(with_last_words(describe_end(end)));
      case kTemporary:
        throw std::runtime_error(with_last_words("exited with 75, a temporary failure"));
      default:
        throw std::runtime_error(with_last_words(describe_end(end)));
    }
  }

  std::string output() {
    if (command_.output == Command::Output::none) return "null";
    if (out_.find_first_not_of(kWhiteSpace) == std::string::npos) {
      throw std::runtime_error(with_last_words(
          "printed nothing on stdout: print one JSON value, or declare \"output\": \"none\""
      ));
    }
    if (out_.starts_with(kByteOrderMark)) {
      throw std::runtime_error("stdout is not one JSON value: it begins with a byte order mark");
    }
    const auto value = json::outline(out_);
    if (!value) {
      throw std::runtime_error(with_last_words(
          "stdout is not one JSON value: " + value.error().message + " It begins with " +
          beginning(out_)
      ));
    }
    if (!value->unstorable.empty()) {
      throw std::runtime_error("stdout cannot be stored: " + value->unstorable);
    }
    if (command_.output == Command::Output::array && value->type != json::Type::array) {
      throw std::runtime_error("an array step prints a JSON array, got " + beginning(out_));
    }
    out_.erase(out_.find_last_not_of(kWhiteSpace) + 1);
    out_.erase(0, out_.find_first_not_of(kWhiteSpace));
    return std::move(out_);
  }

  void out(std::string_view bytes) {
    if (command_.output == Command::Output::none) return out_log_.add(bytes);
    if (overflowed_) return;
    if (out_.size() + bytes.size() > kMostOutput) {
      overflowed_ = true;
      out_ = {};
      return child_->wake();
    }
    out_ += bytes;
  }

  void error(std::string_view bytes) {
    tail_.add(bytes);
    error_log_.add(bytes);
  }

  std::string with_last_words(std::string text) const {
    const std::string words = tail_.text();
    return words.empty() ? text : std::move(text) + ": " + words;
  }

  void log(std::string_view event, std::string_view line) {
    call_.log->info(event, kv("step", call_.task->step_slug), kv("line", line));
  }

  const Command& command_;
  const detail::Call& call_;
  std::unique_ptr<CommandChild> child_;
  std::string out_;
  bool overflowed_ = false;
  bool stopped_ = false;  // TERM was sent before it had ended
  Tail tail_;
  LineLog error_log_;
  LineLog out_log_;
};

}  // namespace

void set_process_per_task(StepDefinition& step, Command command) {
  step.handler_kind = HandlerKind::process_per_task;
  step.stop_grace = command.grace;
  step.handler = std::make_shared<const Command>(std::move(command));
  step.invoke = [](const void* handler, const detail::Call& call) {
    return FilterRun(*static_cast<const Command*>(handler), call).run();
  };
}

}  // namespace pgflow::worker
