#include "supervisor/sweeper.hpp"

#include <utility>

namespace pgflow::supervisor {
namespace {

constexpr std::chrono::milliseconds kInterval{20};
constexpr std::chrono::seconds kLimit{5};

}  // namespace

Sweeper::Sweeper(uv::Loop& loop) : timer_(loop, [this] { look(); }) {}

void Sweeper::sweep(Remains remains, std::function<void()> swept) {
  deaths_.push_back({remains, SteadyClock::now() + kLimit, std::move(swept)});
  // Whoever died in this turn is looked for together.
  timer_.start(std::chrono::milliseconds(0));
}

void Sweeper::look() {
  std::vector<Remains> remains;
  for (const Death& death : deaths_) remains.push_back(death.remains);
  const std::vector<int> alive = kill_leftovers(remains);
  reap_strangers();
  const auto now = SteadyClock::now();
  std::vector<Death> left;
  std::vector<std::function<void()>> swept;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (alive[i] > 0 && now < deaths_[i].given_up_at) {
      left.push_back(std::move(deaths_[i]));
    } else {
      swept.push_back(std::move(deaths_[i].swept));
    }
  }
  deaths_ = std::move(left);
  if (!deaths_.empty()) timer_.start(kInterval);
  for (const auto& call : swept) call();
}

}  // namespace pgflow::supervisor
