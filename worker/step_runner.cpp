#include "worker/step_runner.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "base/utf8.hpp"

namespace pgflow::worker {
namespace {

// Long enough for a message with its causes, short enough to read in a table of runs.
constexpr std::size_t kMaxErrorBytes = 4000;

// More than that no jsonb holds, and a call of 1 GiB would lose the connection instead of an
// attempt.
constexpr std::size_t kMostOutput = 255U << 20U;

// Valid UTF-8 without U+0000, which text columns cannot store.
std::string clean(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = text.front() == '\0' ? 0 : utf8_length(text);
    const std::string_view piece = length == 0 ? "\uFFFD" : text.substr(0, length);
    if (out.size() + piece.size() > kMaxErrorBytes) return out + "…";
    out += piece;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

// What a throw means. A stop for shutdown or cancellation outranks what the handler said, because a
// handler that is cut off in the middle can say anything.
StepOutcome outcome_of_throw(const StepCall& call, bool permanent, std::string_view why) {
  const StopReason reason = call.stop.reason();
  if (reason == StopReason::shutdown || reason == StopReason::cancelled) return {};
  if (permanent) return {StepOutcome::Kind::permanent, clean(why)};
  if (reason == StopReason::timeout) {
    return {StepOutcome::Kind::failed, fmt::format("timed out after {} s", call.timeout.count())};
  }
  return {StepOutcome::Kind::failed, clean(why)};
}

StepOutcome completed(std::string output) {
  if (output.size() > kMostOutput) {
    return {
        StepOutcome::Kind::failed,
        fmt::format(
            "the output has {} MiB; the database stores at most {} MiB",
            output.size() >> 20U,
            kMostOutput >> 20U
        )
    };
  }
  return {StepOutcome::Kind::completed, std::move(output)};
}

}  // namespace

void TaskStop::request(StopReason reason) {
  StopReason expected = StopReason::none;
  if (reason_.compare_exchange_strong(expected, reason)) source_.request_stop();
}

StepOutcome run_step(const StepCall& call, LazyResources& resources) noexcept {
  bool permanent = false;
  std::string why;
  try {
    const detail::Call handed{
        .input = call.input,
        .load_flow_input = [&] { return std::string(call.flow_input); },
        .task = &call.task,
        .stop = call.stop.token(),
        .stop_reason = &call.stop.live_reason(),
        .deadline = call.deadline,
        .log = &call.log,
        .resources = &resources.bound(),
    };
    return completed(call.step.invoke(call.step.handler.get(), handed));
  } catch (const EndWorker& error) {
    StepOutcome outcome = outcome_of_throw(call, false, error.what());
    outcome.end_worker = error.code;
    return outcome;
  } catch (const PermanentFailure& error) {
    permanent = true;
    why = error.what();
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
    why = "the handler threw something that is not a std::exception";
  }
  return outcome_of_throw(call, permanent, why);
}

}  // namespace pgflow::worker
