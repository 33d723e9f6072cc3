#include "worker/step_runner.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

namespace pgflow::worker {
namespace {

// Long enough for a message with its causes, short enough to read in a table of runs.
constexpr std::size_t kMaxErrorBytes = 4000;

// Bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is none. U+0000 does
// not count: jsonb and text columns cannot store it.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool too_high = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_high ? 0 : length;
}

std::string clean(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view piece = length == 0 ? "\uFFFD" : text.substr(0, length);
    if (out.size() + piece.size() > kMaxErrorBytes) return out + "…";
    out += piece;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

// What a throw means. A stop for shutdown outranks what the handler said, because a handler that is
// cut off in the middle can say anything.
StepOutcome outcome_of_throw(const StepCall& call, bool permanent, std::string_view why) {
  const StopReason reason = call.stop.reason();
  if (reason == StopReason::shutdown) return {};
  if (permanent) return {StepOutcome::Kind::permanent, clean(why)};
  if (reason == StopReason::timeout) {
    return {StepOutcome::Kind::failed, fmt::format("timed out after {} s", call.timeout.count())};
  }
  return {StepOutcome::Kind::failed, clean(why)};
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
        .deadline = call.deadline,
        .log = &call.log,
        .resources = &resources.bound(),
    };
    return {StepOutcome::Kind::completed, call.step.invoke(call.step.handler.get(), handed)};
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
