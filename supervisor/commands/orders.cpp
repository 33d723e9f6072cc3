// `pgflow scale|pause|resume|drain|restart|stop`: orders to a running supervisor, and waiting until
// what they want is true.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <thread>

#include "base/proc.hpp"
#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/room.hpp"

namespace pgflow::cli {
namespace {

using namespace std::chrono_literals;
using namespace supervisor;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = 100ms;
constexpr auto kAfterDeadline = 10s;  // tasks are given back and processes reaped

bool has_process(const SlotDocument& slot) {
  return slot.pid.has_value();
}

std::ptrdiff_t processes(const PoolDocument& pool) {
  return std::ranges::count_if(pool.slots, has_process);
}

// As many ready workers as are wanted, and no other process.
bool is_as_wanted(const PoolDocument& pool) {
  return pool.ready == pool.processes && processes(pool) == pool.processes;
}

bool is_empty(const PoolDocument& pool) {
  return processes(pool) == 0;
}

// What a wait asks of each pool, and whether it can still come true.
struct Wish {
  std::string_view words;  // "workers ready"
  std::function<bool(const PoolDocument&)> fulfilled;
  bool for_workers = true;  // for there being some: a paused pool never has them
};

std::string seconds_text(std::chrono::milliseconds duration) {
  return fmt::format("\"{}ms\"", duration.count());
}

void show(const Common& common, const OrderDocument& document) {
  if (common.output == Output::json) return print(to_json(document));
  Table table(
      "",
      {{"POOL"},
       {"STATE"},
       {"READY", Align::right},
       {"WANTED", Align::right},
       {"AT ONCE", Align::right},
       {""}}
  );
  for (const PoolDocument& pool : document.pools) {
    table.add(
        {name_of(pool),
         painted_pool_state(common.out, pool.state),
         std::to_string(pool.ready),
         std::to_string(pool.processes),
         std::to_string(pool.max_concurrent),
         pool.reason ? *pool.reason : override_text(pool)}
    );
  }
  print(table.text());
}

bool concerns(const PoolDocument& pool, const std::vector<PoolTarget>& targets) {
  return std::ranges::any_of(targets, [&](const PoolTarget& target) {
    return is_about(pool, target);
  });
}

Outcome<Exit> wait_for(
    const Common& common,
    const Room& room,
    const std::vector<PoolTarget>& targets,
    const Wish& wish,
    Timeout timeout
) {
  const auto deadline = Clock::now() + timeout.value_or(std::chrono::hours(24 * 365));
  Progress progress(is_terminal(2));
  for (;;) {
    Outcome<StatusDocument> status = room.status();
    if (!status) return tl::unexpected(status.error());
    OrderDocument document{.phase = status->phase};
    for (const PoolDocument& pool : status->pools) {
      if (concerns(pool, targets)) document.pools.push_back(pool);
    }
    long long done = 0;
    for (const PoolDocument& pool : document.pools) {
      const bool fulfilled = wish.fulfilled(pool);
      done += fulfilled ? 1 : 0;
      const bool hopeless =
          !fulfilled && wish.for_workers &&
          (pool.state == "paused" || pool.state == "fenced" || pool.state == "failed");
      if (!hopeless) continue;
      progress.finish();
      return refuse(
          Exit::negative,
          fmt::format("pool {} is {}", name_of(pool), pool.state),
          pool.reason ? fmt::format("{}.", *pool.reason) : "",
          pool.state == "paused"   ? fmt::format("`pgflow resume {}`", name_of(pool))
          : pool.state == "fenced" ? "`pgflow fence list` shows who fenced it."
                                   : "Correct the cause, then `pgflow restart`."
      );
    }
    if (done == static_cast<long long>(document.pools.size())) {
      progress.finish();
      show(common, document);
      return Exit::ok;
    }
    if (Clock::now() >= deadline) {
      progress.finish();
      show(common, document);
      return Exit::timeout;
    }
    progress.update(
        done, static_cast<long long>(document.pools.size()), fmt::format("pools: {}", wish.words)
    );
    std::this_thread::sleep_for(kPause);
  }
}

using Order = std::function<Outcome<OrderDocument>(const Room&, const PoolTarget&)>;

// Gives the order to each pool, then shows them, or waits until the wish is true.
Outcome<Exit> give(
    const Common& common,
    const Room& room,
    const std::vector<PoolTarget>& targets,
    const Order& order,
    const WaitArguments& waiting,
    const Wish& wish
) {
  OrderDocument all;
  for (const PoolTarget& target : targets) {
    Outcome<OrderDocument> answer = order(room, target);
    if (!answer) return tl::unexpected(answer.error());
    all.phase = answer->phase;
    std::ranges::move(answer->pools, std::back_inserter(all.pools));
  }
  if (waiting.wait) return wait_for(common, room, targets, wish, waiting.timeout);
  show(common, all);
  return Exit::ok;
}

// Names that were given, or with --all every flow.
Outcome<std::vector<PoolTarget>> targets_of(
    const StatusDocument& status, const PoolArguments& arguments, std::string_view verb
) {
  if (arguments.pools.empty() && !arguments.all) {
    return refuse(
        Exit::usage,
        fmt::format("pgflow {} needs a pool", verb),
        "",
        fmt::format("`pgflow {} FLOW/STEP`, or --all for every pool of the supervisor.", verb)
    );
  }
  if (!arguments.pools.empty()) return resolve_pools(status, arguments.pools);
  std::vector<PoolTarget> targets;
  for (const FlowDocument& flow : status.flows) targets.push_back({flow.flow, std::nullopt});
  return targets;
}

struct Scaling {
  std::string pool;
  std::optional<int> processes{};
  std::optional<int> max_concurrent{};
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "classify=3", "classify=3x8", "classify=x8"
Outcome<Scaling> parse_scaling(const std::string& text) {
  const auto equals = text.find('=');
  Scaling scaling{.pool = text.substr(0, equals)};
  if (equals != std::string::npos) {
    const std::string_view numbers = std::string_view(text).substr(equals + 1);
    const auto cross = std::min(numbers.find('x'), numbers.size());
    scaling.processes = number(numbers.substr(0, cross));
    if (cross < numbers.size()) scaling.max_concurrent = number(numbers.substr(cross + 1));
    const bool whole = (cross == 0 || scaling.processes) &&
                       (cross == numbers.size() || scaling.max_concurrent) && !numbers.empty();
    const int processes = scaling.processes.value_or(0),
              at_once = scaling.max_concurrent.value_or(1);
    const bool in_range = processes >= 0 && processes <= 1'000 && at_once >= 1 && at_once <= 10'000;
    if (whole && in_range && !scaling.pool.empty()) return scaling;
  }
  return refuse(
      Exit::usage,
      fmt::format("\"{}\" is not POOL=PROCESSES", text),
      "",
      "For example classify=3, classify=3x8 (8 tasks at once in each), or classify=x8. "
      "0 to 1000 processes, 1 to 10000 tasks at once."
  );
}

std::string scale_body(const Scaling& scaling, Timeout ttl) {
  std::string body;
  const auto add = [&body](std::string_view name, const std::string& value) {
    body += fmt::format("{}\"{}\":{}", body.empty() ? "" : ",", name, value);
  };
  if (scaling.processes) add("processes", std::to_string(*scaling.processes));
  if (scaling.max_concurrent) add("max_concurrent", std::to_string(*scaling.max_concurrent));
  if (ttl) add("ttl", seconds_text(*ttl));
  return "{" + body + "}";
}

std::string pause_body(const std::string& reason, Timeout deadline) {
  std::string body;
  if (!reason.empty()) body = fmt::format("\"reason\":{}", to_json(reason));
  if (deadline) {
    body += fmt::format("{}\"deadline\":{}", body.empty() ? "" : ",", seconds_text(*deadline));
  }
  return "{" + body + "}";
}

const Wish kFilled{.words = "workers as wanted", .fulfilled = is_as_wanted};
const Wish kEmptied{.words = "without a worker", .fulfilled = is_empty, .for_workers = false};

Outcome<Exit> pause_pools(
    const Common& common,
    const Room& room,
    const std::vector<PoolTarget>& targets,
    const std::string& body,
    const WaitArguments& waiting
) {
  return give(
      common,
      room,
      targets,
      [&](const Room& its, const PoolTarget& pool) { return its.order(pool, "pause", body); },
      waiting,
      kEmptied
  );
}

std::chrono::milliseconds shutdown_deadline(const Common& common) {
  const auto settings = settings::load_supervisor(common.config.value_or("pgflow.json"));
  return settings ? settings->shutdown_deadline : settings::SupervisorSettings{}.shutdown_deadline;
}

Outcome<Exit> stop_supervisor(
    const Common& common, const Room& room, int pid, const WaitArguments& waiting
) {
  const UniqueFd process = open_pidfd(pid);
  Outcome<void> stopping = room.stop("");
  if (!stopping) return tl::unexpected(stopping.error());
  if (waiting.wait && process) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    const int limit = waiting.timeout ? static_cast<int>(waiting.timeout->count()) : -1;
    if (poll(&ended, 1, limit) == 0) return Exit::timeout;
  }
  if (common.output == Output::json) {
    print(to_json(OrderDocument{.phase = waiting.wait ? "stopped" : "stopping"}));
  } else {
    print(waiting.wait ? "stopped" : "stopping: workers finish what they have in hand");
  }
  return Exit::ok;
}

}  // namespace

Outcome<Exit> scale(const Common& common, const ScaleArguments& arguments) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  std::vector<Scaling> scalings;
  for (const std::string& text : arguments.pools) {
    if (arguments.reset && text.find('=') != std::string::npos) {
      return refuse(
          Exit::usage,
          fmt::format("\"{}\" names no pool", text),
          "",
          "--reset takes pools without numbers: pgflow scale classify --reset"
      );
    }
    if (arguments.reset) {
      scalings.push_back({text, std::nullopt, std::nullopt});
      continue;
    }
    Outcome<Scaling> scaling = parse_scaling(text);
    if (!scaling) return tl::unexpected(scaling.error());
    scalings.push_back(*scaling);
  }
  Outcome<StatusDocument> status = room->status();
  if (!status) return tl::unexpected(status.error());
  std::vector<std::string> names;
  for (const Scaling& scaling : scalings) names.push_back(scaling.pool);
  Outcome<std::vector<PoolTarget>> targets = resolve_pools(*status, names);
  if (!targets) return tl::unexpected(targets.error());
  std::set<std::pair<std::string, std::optional<std::string>>> given;
  for (std::size_t i = 0; i < targets->size(); ++i) {
    if (given.emplace((*targets)[i].flow, (*targets)[i].step).second) continue;
    return refuse(
        Exit::usage,
        fmt::format("\"{}\" is given twice", names[i]),
        "",
        "Give each pool one number."
    );
  }
  std::size_t next = 0;
  return give(
      common,
      *room,
      *targets,
      [&](const Room& its, const PoolTarget& pool) {
        const Scaling& scaling = scalings[next++];
        return arguments.reset ? its.reset_scale(pool)
                               : its.order(pool, "scale", scale_body(scaling, arguments.ttl));
      },
      arguments.waiting,
      kFilled
  );
}

Outcome<Exit> pause(const Common& common, const PauseArguments& arguments) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  Outcome<StatusDocument> status = room->status();
  if (!status) return tl::unexpected(status.error());
  auto targets = targets_of(*status, arguments.pools, "pause");
  if (!targets) return tl::unexpected(targets.error());
  return pause_pools(
      common, *room, *targets, pause_body(arguments.reason, std::nullopt), arguments.waiting
  );
}

Outcome<Exit> drain(const Common& common, const DrainArguments& arguments) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  Outcome<StatusDocument> status = room->status();
  if (!status) return tl::unexpected(status.error());
  PoolArguments pools{arguments.pools, arguments.pools.empty()};
  auto targets = targets_of(*status, pools, "drain");
  if (!targets) return tl::unexpected(targets.error());
  WaitArguments waiting{.wait = arguments.wait};
  if (arguments.timeout) waiting.timeout = *arguments.timeout + kAfterDeadline;
  return pause_pools(
      common, *room, *targets, pause_body("drained by an operator", arguments.timeout), waiting
  );
}

Outcome<Exit> resume(const Common& common, const ResumeArguments& arguments) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  Outcome<StatusDocument> status = room->status();
  if (!status) return tl::unexpected(status.error());
  auto targets = targets_of(*status, arguments.pools, "resume");
  if (!targets) return tl::unexpected(targets.error());
  return give(
      common,
      *room,
      *targets,
      [](const Room& its, const PoolTarget& pool) { return its.order(pool, "resume"); },
      arguments.waiting,
      kFilled
  );
}

Outcome<Exit> restart(const Common& common, const ResumeArguments& arguments) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  Outcome<StatusDocument> status = room->status();
  if (!status) return tl::unexpected(status.error());
  auto targets = targets_of(*status, arguments.pools, "restart");
  if (!targets) return tl::unexpected(targets.error());
  std::set<std::string> old;
  for (const PoolDocument& pool : status->pools) {
    for (const SlotDocument& slot : pool.slots) {
      if (slot.worker_id) old.insert(*slot.worker_id);
    }
  }
  const auto replaced = [old = std::move(old)](const PoolDocument& pool) {
    return is_as_wanted(pool) && std::ranges::none_of(pool.slots, [&](const SlotDocument& slot) {
             return slot.worker_id && old.contains(*slot.worker_id);
           });
  };
  return give(
      common,
      *room,
      *targets,
      [](const Room& its, const PoolTarget& pool) { return its.order(pool, "restart"); },
      arguments.waiting,
      {.words = "with new workers", .fulfilled = replaced}
  );
}

Outcome<Exit> stop(const Common& common, const StopArguments& arguments) {
  Outcome<Room> room = Room::find(common);
  if (!room) return tl::unexpected(room.error());
  Outcome<StatusDocument> status = room->status();
  if (!status) return tl::unexpected(status.error());
  if (arguments.pools.empty()) {
    return stop_supervisor(common, *room, status->pid, arguments.waiting);
  }
  auto targets = resolve_pools(*status, arguments.pools);
  if (!targets) return tl::unexpected(targets.error());
  return pause_pools(
      common,
      *room,
      *targets,
      pause_body("stopped by an operator", shutdown_deadline(common)),
      arguments.waiting
  );
}

}  // namespace pgflow::cli
