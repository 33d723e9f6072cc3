#include "supervisor/autopsy.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include "base/exit_code.hpp"

namespace pgflow::supervisor {
namespace {

using contract::ExitReaction;

// Signals that a process brings upon itself.
bool is_crash(int number) {
  switch (number) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSYS:
    case SIGTRAP:
      return true;
    default:
      return false;
  }
}

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

Verdict died_of_signal(const LastMoments& last) {
  const int number = last.exit.signal;
  if (!last.our_reason.empty()) {
    return {
        ExitReaction::crash, last.our_reason, "killed by the supervisor: " + last.our_reason, {}
    };
  }
  if (last.oom_killed) {
    return {ExitReaction::crash, "oom", "was killed by the kernel because memory ran out", {}};
  }
  if (is_crash(number)) {
    return {ExitReaction::crash, "crash_signal", "died of " + signal_text(number), {}};
  }
  return {
      ExitReaction::crash,
      number == SIGKILL ? "external_kill" : "external_signal",
      "was killed from outside with " + signal_text(number),
      {}
  };
}

Verdict ended_with_code(const LastMoments& last) {
  const int code = last.exit.code;
  Verdict verdict;
  verdict.reaction = contract::reaction_to_exit(code);
  if (code == number(ExitCode::ok)) {
    const bool abandoned = !last.running.empty() && !last.drained;
    verdict.reason = last.drained ? "drained" : abandoned ? "left_with_tasks" : "left";
    if (last.drained && last.external_signal != 0) {
      verdict.reason = "external_term";
      verdict.text = "was told to end from outside with " + signal_text(last.external_signal);
      return verdict;
    }
    verdict.text = abandoned      ? "ended with exit code 0 while it ran tasks"
                   : last.drained ? "finished as it was told"
                                  : "ended by itself";
    if (abandoned) verdict.reaction = ExitReaction::crash;
    return verdict;
  }
  // "This cannot work" is believed at the start only. A worker that has worked was ended by its
  // handler's exit(), or by a right that may be granted again: a restart finds out which. Where
  // others of its pool have worked, something has changed, and may be put right again.
  if (verdict.reaction == ExitReaction::give_up) {
    if (last.was_ready) verdict.reaction = ExitReaction::crash;
    if (!last.was_ready && last.pool_was_ready) verdict.reaction = ExitReaction::stay_down;
  }
  verdict.reason = "exit_code";
  verdict.text = fmt::format("ended with exit code {} ({})", code, exit_code_name(code));
  if (last.fatal) verdict.text += ": " + last.fatal->message;
  return verdict;
}

}  // namespace

Verdict judge(const LastMoments& last) {
  Verdict verdict = last.exit.signal != 0 ? died_of_signal(last) : ended_with_code(last);
  const bool by_itself = verdict.reason == "crash_signal" || verdict.reason == "oom" ||
                         (last.exit.signal == 0 && verdict.reaction == ExitReaction::crash);
  if (by_itself && last.running.size() == 1) {
    verdict.guilty.emplace_back(last.running.front());
  }
  return verdict;
}

}  // namespace pgflow::supervisor
