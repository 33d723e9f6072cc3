// `pgflow top`: the supervisor, its pools and its workers on the whole screen, every second anew.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/clock.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/full_screen.hpp"
#include "supervisor/room.hpp"

namespace pgflow::cli {
namespace {

using namespace std::chrono_literals;
using namespace supervisor;

constexpr auto kEvery = 1s;
constexpr std::size_t kWide = 110;  // columns, from which the longer table is shown

std::string painted_slot(const Style& style, const std::string& state) {
  if (state == "ready") return style.green(state);
  if (state == "failed" || state == "backoff" || state == "killing") return style.red(state);
  return style.yellow(state);
}

std::string size_text(std::int64_t bytes) {
  return bytes == 0 ? std::string(kNothing) : fmt::format("{}M", bytes / (1024 * 1024));
}

std::string header(const Style& style, const StatusDocument& view, SteadyClock::duration silent) {
  const auto ready = std::ranges::count_if(view.pools, [](const PoolDocument& pool) {
    return pool.ready >= pool.processes;
  });
  std::string text = fmt::format(
      "{} {}  {}  pid {}  up {}  {}  {}/{} pools as wanted",
      style.bold("pgflow"),
      view.name,
      view.phase == "running" ? style.green(view.phase) : style.yellow(view.phase),
      view.pid,
      duration_text(view.uptime_seconds),
      view.database.up ? "db " + view.database.version.value_or("up") : style.red("db down"),
      ready,
      view.pools.size()
  );
  if (view.pending_releases > 0) {
    text += "  " + style.red(counted(view.pending_releases, "release") + " pending");
  }
  if (silent >= 2 * kEvery) {
    text += "  " + style.red(fmt::format(
                       "no answer for {}s",
                       std::chrono::duration_cast<std::chrono::seconds>(silent).count()
                   ));
  }
  return text + "\n\n";
}

// Tasks that the workers of each pool ended since the last look; a new worker begins at 0.
class Rates {
 public:
  void look(const StatusDocument& view) {
    const auto now = SteadyClock::now();
    const double passed = std::chrono::duration<double>(now - looked_at_).count();
    looked_at_ = now;
    std::map<std::string, std::int64_t> done;
    rates_.clear();
    for (const PoolDocument& pool : view.pools) {
      std::int64_t more = 0;
      for (const SlotDocument& slot : pool.slots) {
        if (!slot.worker_id) continue;
        done[*slot.worker_id] = slot.tasks_done;
        const auto before = done_.find(*slot.worker_id);
        if (before != done_.end()) more += slot.tasks_done - before->second;
      }
      rates_[name_of(pool)] = passed > 0 ? static_cast<double>(more) / passed : 0;
    }
    done_ = std::move(done);
  }
  std::string of(const PoolDocument& pool) const {
    const auto found = rates_.find(name_of(pool));
    return fmt::format("{:.1f}", found == rates_.end() ? 0 : found->second);
  }

 private:
  std::map<std::string, std::int64_t> done_;  // by worker
  std::map<std::string, double> rates_;       // by pool
  SteadyClock::time_point looked_at_;
};

std::string pools_text(const Style& style, const StatusDocument& view, const Rates& rates) {
  Table table(
      "",
      {{"POOL"},
       {"STATE"},
       {"READY", Align::right},
       {"BUSY", Align::right},
       {"TASKS/S", Align::right},
       {""}}
  );
  for (const PoolDocument& pool : view.pools) {
    table.add(
        {name_of(pool),
         painted_pool_state(style, pool.state),
         fmt::format("{}/{}", pool.ready, pool.processes),
         fmt::format("{}/{}", pool.busy, pool.ready * pool.max_concurrent),
         rates.of(pool),
         pool.reason && !pool.reason->empty() ? *pool.reason : override_text(pool)}
    );
  }
  return table.text();
}

std::string workers_text(const Style& style, const StatusDocument& view, bool wide) {
  std::vector<Table::Column> columns{
      {"WORKER"},
      {wide ? "POOL" : "STEP"},
      {"STATE"},
      {"PID", Align::right},
      {"UP", Align::right},
      {"BUSY", Align::right},
      {"DONE", Align::right},
      {"RSS", Align::right}
  };
  if (wide) {
    columns.push_back({"CRASHES", Align::right});
    columns.push_back({"LAST END"});
  }
  Table table("", columns);
  for (const PoolDocument& pool : view.pools) {
    for (const SlotDocument& slot : pool.slots) {
      std::vector<std::string> cells{
          slot.worker_id ? slot.worker_id->substr(0, 8) : std::string(kNothing),
          wide || !pool.step ? name_of(pool) : *pool.step,
          painted_slot(style, slot.state),
          slot.pid ? std::to_string(*slot.pid) : std::string(kNothing),
          slot.next_start_seconds ? "in " + duration_text(slot.next_start_seconds)
          : slot.pid              ? duration_text(slot.uptime_seconds)
                                  : std::string(kNothing),
          std::to_string(slot.in_flight),
          std::to_string(slot.tasks_done),
          size_text(slot.rss_bytes)
      };
      if (wide) {
        cells.push_back(std::to_string(slot.crashes));
        cells.push_back(slot.last_exit ? slot.last_exit->text : "");
      }
      table.add(std::move(cells));
    }
  }
  return table.empty() ? "" : "\n" + table.text();
}

std::string exits_text(const Style& style, const StatusDocument& view) {
  constexpr std::size_t kShown = 5;
  Table table("", {{"ENDED"}, {"POOL"}, {"WORKER"}, {"REASON"}, {""}});
  for (std::size_t i = 0; i < std::min(kShown, view.exits.size()); ++i) {
    const ExitDocument& exit = view.exits[i];
    table.add(
        {exit.time.substr(11, 8),
         exit.step ? exit.flow + "/" + *exit.step : exit.flow,
         exit.worker_id.substr(0, 8),
         exit.reason == "drained" ? exit.reason : style.red(exit.reason),
         exit.text}
    );
  }
  return table.empty() ? "" : "\n" + table.text();
}

}  // namespace

Outcome<Exit> top(const Common& common) {
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDOUT_FILENO)) {
    return refuse(
        Exit::usage, "pgflow top needs a terminal", "", "`pgflow status` prints the same once."
    );
  }
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  // Before the screen: who is not there is told on the terminal as it is.
  Outcome<StatusDocument> view = room->status();
  if (!view) return tl::unexpected(view.error());
  Rates rates;
  rates.look(*view);
  auto heard_at = SteadyClock::now();
  auto due_at = heard_at + kEvery;
  FullScreen screen;
  for (;;) {
    const bool wide = FullScreen::size().columns >= kWide;
    screen.show(
        header(common.out, *view, SteadyClock::now() - heard_at) +
        pools_text(common.out, *view, rates) + workers_text(common.out, *view, wide) +
        exits_text(common.out, *view) + "\n" + common.out.dim("q ends this")
    );
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_at - SteadyClock::now());
    const FullScreen::Event event = screen.wait(std::max(0ms, left));
    if (event.key == 'q') return Exit::ok;
    if (event.signal != 0) return static_cast<Exit>(128 + event.signal);
    if (SteadyClock::now() < due_at) continue;
    due_at = SteadyClock::now() + kEvery;
    Outcome<StatusDocument> next = room->status(kEvery);
    if (next) {
      view = std::move(next);
      rates.look(*view);
      heard_at = SteadyClock::now();
    } else if (next.error().error.kind != "no_answer") {
      return tl::unexpected(next.error());
    }
  }
}

}  // namespace pgflow::cli
