// `pgflow fence`, `fence list`, `unfence`: nothing of a set of worker functions may run until the
// holder of the token says so.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/uuid.hpp"
#include "pg/sqlstate.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/functions_of.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: fence id, $2: token, $3: functions, $4: owner, $5: reason. Its workers finish what they hold
// and leave; without that they would stay and beat for nothing.
constexpr std::string_view kFence = R"sql(
select json_build_object(
  'fence_id', $1::uuid,
  'token', $2::text,
  'owner', $4::text,
  'reason', $5::text,
  'functions', json_agg(json_build_object('function', f.function_name, 'was_enabled', f.was_enabled)
    order by f.function_name collate "C"),
  'workers_told', pgflow.deprecate_workers(array_agg(f.function_name)))
from pgflow.fence_functions($1::uuid, $2::text, $3::text[], $4::text, $5::text) f
)sql";

// $1: a fence id or null, $2: lifted ones, too.
constexpr std::string_view kFences = R"sql(
select json_build_object('fences', coalesce(json_agg(json_build_object(
  'fence_id', f.fence_id,
  'owner', f.owner,
  'reason', f.reason,
  'created_at', f.created_at,
  'lifted_at', f.lifted_at,
  'forced_reason', f.forced_reason,
  'quiet', case when f.lifted_at is null then s.list is null and d.quiet end,
  'pending_supervisors', coalesce(s.list, '[]'),
  'functions', d.list) order by f.created_at desc, f.fence_id), '[]'))
from pgflow.fences f
cross join lateral (
  select json_agg(json_build_object('name', p.name, 'host', p.host_id, 'pid', p.pid) order by p.name, p.host_id, p.pid) as list
  from pgflow.pending_fence_acks(f.fence_id) p
  where f.lifted_at is null
) s
cross join lateral (
  select bool_and(d.live_workers = 0 and d.tasks_in_hand = 0) as quiet,
    json_agg(json_build_object(
      'function', d.function_name,
      'was_enabled', f.recorded[array_position(f.function_names, d.function_name)],
      'enabled', d.enabled,
      'live_workers', d.live_workers,
      'draining_workers', d.draining_workers,
      'tasks_in_hand', d.tasks_in_hand)
      order by d.function_name) as list
  from pgflow.drain_status(f.function_names) d
) d
where ($1::uuid is null or f.fence_id = $1::uuid) and ($2::boolean or f.lifted_at is null)
)sql";

// $1: functions, $2: a token or null. Of the fences that stand around them, those that the token
// opens; all when it opens none.
constexpr std::string_view kAround = R"sql(
with around as (
  select f.fence_id, f.created_at, coalesce(f.token_hash = sha256(convert_to($2::text, 'UTF8')), false) as opens
  from pgflow.fences f
  where f.fence_id in (select s.fence_id from pgflow.fenced_functions s where s.function_name = any ($1::text[]))
)
select fence_id from around
where opens or not exists (select from around a where a.opens)
order by created_at
)sql";

// $1: fence ids, $2: a token or null, $3: a reason or null.
constexpr std::string_view kUnfence = R"sql(
with lifted as materialized (
  select u.function_name, u.enabled, u.is_fenced
  from unnest($1::uuid[]) as given (fence_id)
  cross join lateral pgflow.unfence_functions(given.fence_id, $2::text, $3::text) u
)
select json_build_object(
  'fences', to_json($1::uuid[]),
  'functions', json_agg(json_build_object('function', f.function_name, 'enabled', f.enabled, 'is_fenced', f.is_fenced)
    order by f.function_name collate "C"))
from (select l.function_name, bool_or(l.enabled) as enabled, bool_and(l.is_fenced) as is_fenced from lifted l group by 1) f
)sql";

constexpr std::chrono::milliseconds kPause{250};

Outcome<FenceListView> fences(
    Database& database, const std::optional<std::string>& fence_id, bool all, std::string* document
) {
  auto answer = database.value(kFences, {fence_id, all ? "t" : "f"});
  if (!answer) return tl::unexpected(answer.error());
  if (document != nullptr) *document = **answer;
  return from_json<FenceListView>(**answer);
}

// What still runs of it, in words; empty when nothing does.
std::string still_running(const FenceListed& fence) {
  std::vector<std::string> missing;
  for (const auto& supervisor : fence.pending_supervisors) {
    missing.push_back(fmt::format(
        "supervisor {} (pid {} on {}) has not acknowledged",
        supervisor.name,
        supervisor.pid,
        supervisor.host
    ));
  }
  for (const auto& function : fence.functions) {
    if (function.live_workers == 0 && function.tasks_in_hand == 0) continue;
    missing.push_back(fmt::format(
        "{}: {}, {} in hand",
        function.function,
        counted(function.live_workers, "live worker"),
        counted(function.tasks_in_hand, "task")
    ));
  }
  return fmt::format("{}", fmt::join(missing, "; "));
}

Outcome<Exit> wait_until_quiet(Database& database, const std::string& fence_id, Timeout timeout) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress(is_terminal(2));
  for (;;) {
    auto found = fences(database, fence_id, true, nullptr);
    if (!found) return tl::unexpected(found.error());
    const FenceListed& fence = found->fences.front();
    if (fence.lifted_at) {
      progress.finish();
      return refuse(
          Exit::negative,
          fmt::format("fence {} was lifted meanwhile", fence_id),
          "",
          "`pgflow fence list --all` tells when."
      );
    }
    std::int64_t busy = 0;
    for (const auto& function : fence.functions) {
      busy += function.live_workers > 0 || function.tasks_in_hand > 0 ? 1 : 0;
    }
    const auto total = static_cast<std::int64_t>(fence.functions.size());
    progress.update(
        total - busy,
        total,
        fmt::format(
            "functions quiet, waiting for {}",
            counted(static_cast<long long>(fence.pending_supervisors.size()), "supervisor")
        )
    );
    if (fence.quiet.value_or(false)) {
      progress.finish();
      return Exit::ok;
    }
    if (timeout && std::chrono::steady_clock::now() - begin >= *timeout) {
      progress.finish();
      return refuse(
          Exit::timeout,
          "the fence stands, but not all is quiet yet",
          still_running(fence),
          "`pgflow fence list` shows how far it is; the fence stays until `pgflow unfence`."
      );
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::string enabled_text(bool enabled) {
  return enabled ? "enabled" : "disabled";
}

}  // namespace

Outcome<Exit> fence(const Common& common, const FenceArguments& arguments) {
  if (arguments.targets.empty()) {
    return refuse(
        Exit::usage, "fence what?", "", "pgflow fence FLOW or FLOW/STEP --reason \"a deployment\""
    );
  }
  if (arguments.reason.empty()) {
    return refuse(
        Exit::usage,
        "a fence needs a reason",
        "Whoever meets it will want to know.",
        "--reason \"deployment of r42\""
    );
  }
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  auto functions = functions_of(**database, arguments.targets);
  if (!functions) return tl::unexpected(functions.error());

  const std::string fence_id = uuid_text(random_uuid());
  auto document = (*database)->value(
      kFence,
      {fence_id,
       uuid_text(random_uuid()),
       array_text(*functions),
       arguments.owner.value_or(this_person()),
       arguments.reason}
  );
  if (!document) {
    Failure failed = document.error();
    if (failed.error.kind == pg::kConnectionLost) {
      failed.error.hint = fmt::format(
          "It may stand all the same: `pgflow fence list` shows whether {} is there; "
          "`pgflow unfence {} --force --reason …` lifts it.",
          fence_id,
          fence_id
      );
    }
    return tl::unexpected(std::move(failed));
  }
  if (common.output == Output::json) {
    print(**document);
  } else {
    const auto view = from_json<FenceView>(**document);
    print(fmt::format("fence {}\ntoken {}\n", view.fence_id, view.token));
    Table table("  ", {{""}, {""}});
    for (const auto& function : view.functions) {
      table.add({function.function, "was " + enabled_text(function.was_enabled)});
    }
    print(table.text());
    print_hint(common, "The token is shown this once; `pgflow unfence` wants it.");
  }
  if (!arguments.wait) return Exit::ok;
  // Told before the wait: whoever interrupts it has the token.
  std::fflush(stdout);
  return wait_until_quiet(**database, fence_id, arguments.timeout);
}

Outcome<Exit> unfence(const Common& common, const UnfenceArguments& arguments) {
  if (!arguments.token && !arguments.force) {
    return refuse(
        Exit::usage,
        "lift it with which token?",
        "",
        "--token TOKEN as `pgflow fence` printed it; in an emergency --force --reason TEXT"
    );
  }
  if (arguments.force && (!arguments.reason || arguments.reason->empty())) {
    return refuse(
        Exit::usage,
        "to lift a fence without its token needs a reason",
        "It is kept with the fence.",
        "--force --reason \"owner not reachable\""
    );
  }
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());

  std::vector<std::string> ids;
  for (const std::string& target : arguments.targets) {
    if (parse_uuid(target)) {
      ids.push_back(target);
      continue;
    }
    auto functions = functions_of(**database, {target});
    if (!functions) return tl::unexpected(functions.error());
    auto around = (*database)->column(kAround, {array_text(*functions), arguments.token});
    if (!around) return tl::unexpected(around.error());
    if (around->empty()) {
      return refuse(
          Exit::not_found,
          fmt::format("no fence stands around {}", target),
          "",
          "`pgflow fence list` shows those that stand."
      );
    }
    ids.insert(ids.end(), around->begin(), around->end());
  }
  auto document = (*database)->value(
      kUnfence,
      {array_text(ids), arguments.token, arguments.force ? arguments.reason : std::nullopt}
  );
  if (!document) return tl::unexpected(document.error());
  if (common.output == Output::json) {
    print(**document);
    return Exit::ok;
  }
  const auto view = from_json<UnfenceView>(**document);
  Table table("", {{""}, {""}});
  for (const auto& function : view.functions) {
    table.add(
        {function.function,
         function.is_fenced ? common.out.yellow("inside another fence")
                            : enabled_text(function.enabled)}
    );
  }
  print(table.text());
  print_hint(common, "pgflow coverage");
  return Exit::ok;
}

Outcome<Exit> fence_list(const Common& common, bool all) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  std::string document;
  auto view = fences(**database, std::nullopt, all, &document);
  if (!view) return tl::unexpected(view.error());
  if (common.output == Output::json) {
    print(document);
    return Exit::ok;
  }
  for (const FenceListed& fence : view->fences) {
    std::string state = "quiet";
    if (fence.lifted_at) {
      state = "lifted " + time_text(*fence.lifted_at);
      if (fence.forced_reason) state += ", forced: " + *fence.forced_reason;
    } else if (!fence.quiet.value_or(false)) {
      state = common.out.yellow(still_running(fence));
    }
    print(fmt::format(
        "{}  {}  by {}  {}\n  {}\n",
        common.out.bold(fence.fence_id),
        time_text(fence.created_at),
        fence.owner,
        state,
        fence.reason
    ));
    Table table("  ", {{""}, {""}});
    for (const auto& function : fence.functions) {
      table.add({function.function, "was " + enabled_text(function.was_enabled)});
    }
    print(table.text());
  }
  if (view->fences.empty()) print(all ? "There never was a fence." : "No fence stands.");
  return Exit::ok;
}

}  // namespace pgflow::cli
