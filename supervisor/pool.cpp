#include "supervisor/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "log/log.hpp"
#include "supervisor/fence_watch.hpp"

namespace pgflow::supervisor {
namespace {

std::string name_of(const settings::FlowSettings& flow, const settings::StepSettings& step) {
  return step.slug.empty() ? flow.slug : flow.slug + "/" + step.slug;
}

}  // namespace

Pool::Pool(
    uv::Loop& loop,
    SlotHost& host,
    const settings::FlowSettings& flow,
    const settings::StepSettings& step,
    const contract::Manifest& manifest
)
    : loop_(loop),
      host_(host),
      flow_(flow),
      step_(step),
      manifest_(manifest),
      name_(name_of(flow, step)),
      function_name_(worker_function_name(flow.slug, step.slug, flow.worker)),
      budget_(host.settings().defaults.restart) {}

int Pool::max_concurrent() const {
  return budget_.is_open() ? 1 : override_.max_concurrent.value_or(step_.max_concurrent);
}

// --- orders

void Pool::apply(const Override& override, std::optional<Milliseconds> pause_limit) {
  override_ = override;
  pause_limit_ = pause_limit;
  // Also those that leave already, only without a limit.
  if (override_.paused && pause_limit_) {
    for (const auto& slot : slots_) slot->want_down(pause_limit_, *override_.paused);
  }
}

void Pool::restart() {
  if (has_failed()) {
    failure_.clear();
    for (const auto& slot : slots_) slot->want_down({}, "restart");
  }
  budget_.close();
  for (Slot* slot : up()) {
    if (has_process(slot->state())) worn_out_.emplace(slot->worker_id(), "restart");
  }
}

void Pool::replace(WorkerId worker_id, std::string_view why) {
  worn_out_.emplace(worker_id, why);
}

void Pool::stop(Milliseconds deadline) {
  stopping_ = true;
  for (const auto& slot : slots_) slot->want_down(deadline, "shutdown");
}

void Pool::kill() {
  stopping_ = true;
  for (const auto& slot : slots_) slot->kill();
}

// --- want and is

void Pool::converge() {
  std::erase_if(slots_, [](const auto& slot) {
    return slot->state() == SlotState::down && !slot->wanted_up();
  });
  if (stopping_) return;
  const auto target = static_cast<std::size_t>(wanted());
  if (target == 0) {
    worn_out_.clear();
    replacement_.reset();
    for (Slot* slot : up()) slot->want_down(pause_limit_, std::string(to_string(state())));
    return;
  }
  finish_replacement();
  replace_next();
  const bool surges = replacement_ && replacement_->incoming != nullptr;
  shrink(target + (surges ? 1 : 0));
  // An exclusive pool counts those that are leaving, too.
  while (up().size() < target && (!step_.exclusive || slots_.size() < target)) {
    fresh_slot().want_up();
  }
  for (const auto& slot : slots_) slot->set_concurrency(max_concurrent());
}

int Pool::wanted() {
  if (has_failed() || fenced_ || override_.paused) return 0;
  if (!budget_.is_open()) return processes();
  const auto all = up();
  const auto alive =
      std::ranges::count_if(all, [](const Slot* slot) { return has_process(slot->state()); });
  return std::min(processes(), std::max(static_cast<int>(alive), probing_ ? 1 : 0));
}

std::vector<Slot*> Pool::up() const {
  std::vector<Slot*> up;
  for (const auto& slot : slots_) {
    if (slot->wanted_up()) up.push_back(slot.get());
  }
  return up;
}

// With the lowest number that no slot has.
Slot& Pool::fresh_slot() {
  int number = 1;
  const auto taken = [this](int candidate) {
    return std::ranges::any_of(slots_, [&](const auto& slot) {
      return slot->number() == candidate;
    });
  };
  while (taken(number)) ++number;
  return *slots_.emplace_back(std::make_unique<Slot>(loop_, host_, *this, number));
}

// The least useful ones leave: not ready, idle, few tasks, young.
void Pool::shrink(std::size_t wanted) {
  auto slots = up();
  if (slots.size() <= wanted) return;
  std::ranges::sort(slots, {}, [](const Slot* slot) {
    return std::tuple(
        slot->state() == SlotState::ready, slot->in_flight(), -slot->started_at().time_since_epoch()
    );
  });
  slots.resize(slots.size() - wanted);
  for (Slot* slot : slots) {
    if (replacement_ && replacement_->incoming == slot) replacement_.reset();
    slot->want_down({}, "scale_down");
  }
}

// --- replacing workers, one after the other

void Pool::replace_next() {
  if (replacement_) return;
  for (auto each = worn_out_.begin(); each != worn_out_.end();) {
    Slot* old = find(each->first);
    // One that is starting is replaced once it is ready.
    if (old != nullptr && old->wanted_up() && old->state() == SlotState::starting) {
      ++each;
      continue;
    }
    const auto [worker_id, why] = *each;
    each = worn_out_.erase(each);
    if (old == nullptr || !old->wanted_up() || old->state() != SlotState::ready) continue;
    log::info("worker.replaced", {{"slot", old->name()}, {"worker_id", worker_id}, {"why", why}});
    replacement_ = Replacement{worker_id};
    if (step_.exclusive || !host_.has_room()) {
      old->leave_and_return(why);
    } else {
      replacement_->incoming = &fresh_slot();
      replacement_->incoming->want_up();
    }
    return;
  }
}

void Pool::finish_replacement() {
  if (!replacement_) return;
  Slot* old = find(replacement_->outgoing);
  if (old == nullptr) return replacement_.reset();
  Slot*& incoming = replacement_->incoming;
  if (incoming == nullptr || incoming->state() != SlotState::ready) return;
  incoming = nullptr;
  old->want_down({}, "replaced");
}

void Pool::look_for_worn_out(SteadyClock::time_point now) {
  const auto& limits = step_.recycle;
  for (const Slot* slot : up()) {
    if (slot->state() != SlotState::ready || worn_out_.contains(slot->worker_id())) continue;
    if (replacement_ && replacement_->outgoing == slot->worker_id()) continue;
    const char* why = nullptr;
    if (limits.max_tasks > 0 && slot->tasks_done() >= limits.max_tasks) why = "max_tasks";
    if (limits.max_age.count() > 0 && now - slot->started_at() >= limits.max_age) why = "max_age";
    if (limits.max_rss > 0 && slot->rss_bytes() > limits.max_rss) why = "max_rss";
    if (why != nullptr) replace(slot->worker_id(), why);
  }
}

// --- while it runs

void Pool::tick(SteadyClock::time_point now, bool grace) {
  for (const auto& slot : slots_) {
    slot->check_watchdog(now, grace);
    if (slot->state() == SlotState::ready) budget_.lives(slot->ready_for(now));
  }
  if (stopping_) return;
  look_for_worn_out(now);
  if (budget_.take_probe(now)) probing_ = true;
  if (!budget_.is_open()) probing_ = false;
}

void Pool::worker_exited(const Verdict& verdict) {
  if (verdict.reaction == contract::ExitReaction::give_up) {
    if (failure_.empty()) fail(verdict.text);
    return;
  }
  if (verdict.reaction != contract::ExitReaction::crash) return;
  probing_ = false;
  if (!budget_.crashed(SteadyClock::now())) return;
  const auto& restart = host_.settings().defaults.restart;
  log::error(
      "pool.crashlooping",
      {{"pool", name_},
       {"crashes", restart.budget_crashes},
       {"last", verdict.text},
       {"error_hint",
        "One worker is tried every " + human_duration(restart.probe_every) + "; `pgflow restart " +
            name_ + "` tries all at once."}}
  );
}

void Pool::fail(const std::string& reason) {
  failure_ = reason;
  log::error(
      "pool.failed",
      {{"flow", flow_.slug},
       {"step", step_.slug},
       {"reason", reason},
       {"error_hint", "No restart can help: correct the cause, then `pgflow restart " + name_ + "`."
       }}
  );
  for (const auto& slot : slots_) slot->give_up();
}

void Pool::wake(std::string_view queue_name, const Slot* except) {
  for (const auto& slot : slots_) {
    if (slot.get() != except && slot->queue_name() == queue_name) slot->wake();
  }
}

void Pool::wake() {
  for (const auto& slot : slots_) slot->wake();
}

// --- facts

int Pool::count(SlotState state) const {
  return static_cast<int>(std::ranges::count_if(slots_, [state](const auto& slot) {
    return slot->state() == state;
  }));
}

int Pool::processes_alive() const {
  return static_cast<int>(std::ranges::count_if(slots_, [](const auto& slot) {
    return has_process(slot->state());
  }));
}

Slot* Pool::find(WorkerId worker_id) const {
  const auto found = std::ranges::find_if(slots_, [&](const auto& slot) {
    return has_process(slot->state()) && slot->worker_id() == worker_id;
  });
  return found == slots_.end() ? nullptr : found->get();
}

PoolState Pool::state() const {
  if (has_failed()) return PoolState::failed;
  if (fenced_) return PoolState::fenced;
  if (override_.paused) return PoolState::paused;
  if (processes() == 0) return PoolState::zero;
  return budget_.is_open() ? PoolState::crashlooping : PoolState::active;
}

bool Pool::is_ready() const {
  const PoolState is = state();
  const bool wants_none =
      is == PoolState::fenced || is == PoolState::paused || is == PoolState::zero;
  return wants_none || count(SlotState::ready) > 0;
}

PoolView Pool::view() const {
  PoolView out;
  out.flow_slug = flow_.slug;
  out.step_slug = step_.slug;
  out.state = state();
  out.processes = processes();
  out.max_concurrent = override_.max_concurrent.value_or(step_.max_concurrent);
  out.file_processes = step_.processes;
  out.file_max_concurrent = step_.max_concurrent;
  for (const auto& route : manifest_.routes) {
    if (route.step_slug == step_.slug) out.queue_name = route.queue_name;
  }
  if (out.state == PoolState::failed) out.reason = failure_;
  if (out.state == PoolState::fenced) out.reason = *fenced_;
  if (out.state == PoolState::paused) out.reason = *override_.paused;
  if (override_.until) {
    out.override_ends_in =
        std::chrono::duration_cast<Milliseconds>(*override_.until - WallClock::now());
  }
  for (const auto& slot : slots_) out.slots.push_back(slot->view());
  return out;
}

}  // namespace pgflow::supervisor
