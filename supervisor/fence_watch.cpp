#include "supervisor/fence_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/proc.hpp"
#include "log/log.hpp"
#include "supervisor/worker_environment.hpp"

namespace pgflow::supervisor {
namespace {

// A third of what makes a supervisor count as gone.
constexpr std::chrono::seconds kBeat{2};

}  // namespace

FenceWatch::FenceWatch(
    uv::Loop& loop, pg::Connection& connection, store::WakeListener& ears, OnChange on_change
)
    : store_(connection),
      connection_(connection),
      on_change_(std::move(on_change)),
      timer_(loop, [this] { look(); }) {
  ears.on_fence([this] { look(); });
}

void FenceWatch::start(
    std::string generation, std::string name, std::vector<std::string> function_names
) {
  row_ = store::SupervisorRow{
      .generation = std::move(generation),
      .name = std::move(name),
      .host_id = host_name(),
      .pid = static_cast<int>(getpid()),
      .function_names = std::move(function_names),
  };
  timer_.start(kBeat, kBeat);
  look();
}

void FenceWatch::look() {
  if (!row_ || !connection_.is_open()) return;
  if (asking_) {
    ask_again_ = true;
    return;
  }
  asking_ = true;
  ask_again_ = false;
  store_.heartbeat(*row_, [this](Result<std::vector<store::StandingFence>> answer) {
    asking_ = false;
    heard(std::move(answer));
    if (ask_again_) look();
  });
}

void FenceWatch::heard(Result<std::vector<store::StandingFence>> answer) {
  if (!row_) return;
  if (!answer) {
    if (!pg::is_database_down(answer.error()) && !std::exchange(told_refusal_, true)) {
      log::warn("fences.unknown", answer.error());
    }
    return;
  }
  told_refusal_ = false;
  const auto same = [](const store::StandingFence& a, const store::StandingFence& b) {
    return a.fence_id == b.fence_id;  // the rest of a fence never changes
  };
  const bool changed = !known_ || !std::ranges::equal(standing_, *answer, same);
  known_ = true;
  standing_ = std::move(*answer);
  if (changed) {
    views_.clear();
    for (const auto& fence : standing_) {
      views_.push_back({fence.fence_id, fence.function_names, fence.owner, fence.reason});
    }
    std::erase_if(obeyed_, [this](const std::string& id) {
      return std::ranges::find(standing_, id, &store::StandingFence::fence_id) == standing_.end();
    });
    on_change_(views_);
  }
  send_acks();
}

void FenceWatch::ack(const std::string& fence_id) {
  if (obeyed_.insert(fence_id).second) send_acks();
}

// What the database does not know yet; what is lost on the way is sent with the next beat.
void FenceWatch::send_acks() {
  if (!row_ || !connection_.is_open()) return;
  for (const auto& fence : standing_) {
    if (fence.acked || !obeyed_.contains(fence.fence_id)) continue;
    store_.ack(fence.fence_id, row_->generation, [this, id = fence.fence_id](Result<bool> stands) {
      if (!stands) return;
      const auto found = std::ranges::find(standing_, id, &store::StandingFence::fence_id);
      if (found != standing_.end()) found->acked = *stands;
    });
  }
}

void FenceWatch::stop() {
  if (!row_) return;
  timer_.stop();
  if (connection_.is_open()) store_.mark_stopped(row_->generation, [](const Result<void>&) {});
  row_.reset();
}

const FenceView* FenceWatch::around(const std::string& function_name) const {
  const auto found = std::ranges::find_if(views_, [&](const FenceView& fence) {
    return std::ranges::find(fence.function_names, function_name) != fence.function_names.end();
  });
  return found == views_.end() ? nullptr : &*found;
}

std::string worker_function_name(
    const std::string& flow_slug,
    const std::string& step_slug,
    const settings::WorkerProgram& program
) {
  constexpr std::string_view kName = "WORKER_NAME=";
  for (const std::string& variable : worker_environment(program, {})) {
    if (variable.starts_with(kName) && variable.size() > kName.size())
      return variable.substr(kName.size());
  }
  return step_slug.empty() ? flow_slug : flow_slug + "/" + step_slug;
}

}  // namespace pgflow::supervisor
