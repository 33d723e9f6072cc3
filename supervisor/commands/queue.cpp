// `pgflow queue list`, `queue show`, `queue peek`: the queues of flows, without touching a message
// and without showing what one holds.
#include <fmt/format.h>

#include "base/did_you_mean.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: a queue or null for all.
constexpr std::string_view kQueues = R"sql(
with owned as (
  select s.queue_name as name, s.flow_slug, json_agg(s.step_slug order by s.step_index) as steps
  from pgflow.steps s group by 1, 2
  union all
  select lower(f.flow_slug collate "C"), f.flow_slug, '[]' from pgflow.flows f
  where f.queue_mode = 'flow' and not exists (select from pgflow.steps s where s.flow_slug = f.flow_slug)
),
listed as (
  select q.queue_name, m.queue_length, m.queue_visible_length, m.oldest_msg_age_sec, m.total_messages
  from (select q.queue_name from pgmq.list_queues() q where q.queue_name in (select o.name from owned o)) q
  cross join lateral pgmq.metrics(q.queue_name) m
)
select json_build_object(
  'queue', o.name,
  'flow', o.flow_slug,
  'steps', o.steps,
  'exists', l.queue_name is not null,
  'messages', coalesce(l.queue_length, 0),
  'visible', coalesce(l.queue_visible_length, 0),
  'oldest_seconds', l.oldest_msg_age_sec,
  'ever_sent', coalesce(l.total_messages, 0),
  'queued_tasks', t.queued,
  'started_tasks', t.started)
from owned o
left join listed l on l.queue_name = o.name
cross join lateral (
  select count(*) filter (where t.status = 'queued') as queued, count(*) filter (where t.status = 'started') as started
  from pgflow.step_tasks t where t.flow_slug = o.flow_slug and t.queue_name = o.name and t.status in ('queued', 'started')
) t
where $1::text is null or o.name = $1::text
order by o.flow_slug, o.name
)sql";

// $1: a queue, $2: how many. %s: its table.
constexpr std::string_view kPeek = R"sql(
select json_build_object(
  'message_id', m.msg_id::text,
  'read_count', m.read_ct,
  'enqueued_at', m.enqueued_at,
  'visible_at', m.vt,
  'visible', m.vt <= clock_timestamp(),
  'run_id', t.run_id,
  'step', t.step_slug,
  'task_index', t.task_index,
  'task_status', t.status)
from (select msg_id, read_ct, enqueued_at, vt from pgmq.{} order by vt, msg_id limit $2::int) m
left join pgflow.step_tasks t on t.queue_name = $1::text and t.message_id = m.msg_id
order by m.vt, m.msg_id
)sql";

Outcome<void> require_queue(Database& database, const std::string& queue) {
  auto rows = database.column(kQueues, {std::nullopt});
  if (!rows) return tl::unexpected(rows.error());
  std::vector<std::string> names;
  for (const std::string& row : *rows) {
    const auto listed = from_json<QueueListed>(row);
    if (listed.queue == queue) {
      if (listed.exists) return {};
      return refuse(
          Exit::not_found,
          fmt::format("queue \"{}\" was dropped", queue),
          fmt::format("It belongs to flow {}.", listed.flow),
          fmt::format("select pgflow.restore_queues('{}') brings it back", listed.flow)
      );
    }
    names.push_back(listed.queue);
  }
  std::string hint = did_you_mean_hint(queue, names);
  if (hint.empty()) hint = "`pgflow queue list` shows the queues of flows.";
  return refuse(Exit::not_found, fmt::format("no flow has a queue \"{}\"", queue), "", hint);
}

Outcome<Exit> print_queues(const Common& common, const std::vector<std::string>& rows) {
  if (common.output != Output::text) {
    print_rows(common, "queues", rows);
    return Exit::ok;
  }
  Table table(
      "",
      {{"QUEUE"},
       {"FLOW"},
       {"MESSAGES", Align::right},
       {"VISIBLE", Align::right},
       {"OLDEST", Align::right},
       {"QUEUED", Align::right},
       {"STARTED", Align::right},
       {"EVER SENT", Align::right}}
  );
  for (const std::string& row : rows) {
    const auto queue = from_json<QueueListed>(row);
    table.add(
        {queue.exists ? queue.queue : common.out.red(queue.queue + " (dropped)"),
         queue.flow,
         std::to_string(queue.messages),
         std::to_string(queue.visible),
         duration_text(queue.oldest_seconds),
         std::to_string(queue.queued_tasks),
         std::to_string(queue.started_tasks),
         std::to_string(queue.ever_sent)}
    );
  }
  print(rows.empty() ? "No queues: no flow is compiled." : table.text());
  return Exit::ok;
}

}  // namespace

Outcome<Exit> queue_list(const Common& common) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  auto rows = (*database)->column(kQueues, {std::nullopt});
  if (!rows) return tl::unexpected(rows.error());
  return print_queues(common, *rows);
}

Outcome<Exit> queue_show(const Common& common, const std::string& queue) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  Outcome<void> known = require_queue(**database, queue);
  if (!known) return tl::unexpected(known.error());
  auto rows = (*database)->column(kQueues, {queue});
  if (!rows) return tl::unexpected(rows.error());
  return print_queues(common, *rows);
}

Outcome<Exit> queue_peek(const Common& common, const QueuePeekArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  Outcome<void> known = require_queue(**database, arguments.queue);
  if (!known) return tl::unexpected(known.error());
  auto table_name = (*database)->value(
      "select quote_ident(pgmq.format_table_name($1::text, 'q'))", {arguments.queue}
  );
  if (!table_name) return tl::unexpected(table_name.error());
  auto rows = (*database)->column(
      fmt::format(kPeek, table_name->value_or("")),
      {arguments.queue, std::to_string(arguments.count)}
  );
  if (!rows) return tl::unexpected(rows.error());
  if (common.output != Output::text) {
    print_rows(common, "messages", *rows);
    return Exit::ok;
  }
  Table table(
      "",
      {{"MESSAGE", Align::right},
       {"READ", Align::right},
       {"ENQUEUED"},
       {"VISIBLE"},
       {"RUN"},
       {"TASK"}}
  );
  for (const std::string& row : *rows) {
    const auto message = from_json<MessageListed>(row);
    table.add(
        {message.message_id,
         std::to_string(message.read_count),
         time_text(message.enqueued_at),
         message.visible ? common.out.green("now") : time_text(message.visible_at),
         message.run_id.value_or(std::string(kNothing)),
         message.step ? fmt::format(
                            "{}[{}] {}",
                            *message.step,
                            message.task_index.value_or(0),
                            message.task_status.value_or("")
                        )
                      : common.out.yellow("no task knows it")}
    );
  }
  print(rows->empty() ? "The queue is empty." : table.text());
  return Exit::ok;
}

}  // namespace pgflow::cli
