#include "supervisor/control/queue_sampler.hpp"

#include <cstdlib>

#include "contract/environment.hpp"
#include "log/log.hpp"

namespace pgflow::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kEvery = 5s;

// Costs what waits and what is in hand, never what has ended: those messages are in the archives.
constexpr pg::Query kSample{
    "queue sample",
    R"sql(
with queues as (
  select distinct f.flow_slug, case when f.queue_mode = 'step' then s.step_slug else '' end as step_slug, s.queue_name
  from pgflow.flows f
  join pgflow.steps s using (flow_slug)
  where f.flow_slug = any($1::text[])
),
listed as (
  select distinct lower(l.queue_name) as queue_name from pgmq.list_queues() l
)
select q.flow_slug, q.step_slug, q.queue_name,
  m.queue_visible_length,
  m.queue_length - m.queue_visible_length,
  case when m.queue_visible_length > 0 then m.oldest_msg_age_sec end,
  (select count(*) from pgflow.workers w
   where w.queue_name = q.queue_name and w.stopped_at is null and w.deprecated_at is null
     and w.last_heartbeat_at > clock_timestamp() - interval '6 seconds')
from queues q
join listed l on l.queue_name = lower(q.queue_name)
cross join lateral pgmq.metrics(q.queue_name) m
order by q.flow_slug, q.queue_name
)sql",
    kEvery
};

pg::ConnectionOptions options(const settings::DatabaseSettings& settings) {
  return {
      .dsn = pg::Dsn::parse(settings.url).value_or(pg::Dsn()),
      .application_name = std::string(contract::kSupervisorApplicationName),
      .connect_timeout = settings.connect_timeout,
  };
}

}  // namespace

QueueSampler::QueueSampler(
    uv::Loop& loop,
    const settings::DatabaseSettings& settings,
    Metrics& metrics,
    std::function<bool()> may_ask
)
    : metrics_(metrics),
      may_ask_(std::move(may_ask)),
      connection_(loop, options(settings)),
      timer_(loop, [this] { tick(); }) {}

void QueueSampler::start(std::vector<std::string> flow_slugs) {
  flow_slugs_ = std::move(flow_slugs);
  timer_.start(0ms, kEvery);
}

void QueueSampler::tick() {
  const auto state = connection_.state();
  if (state == pg::ConnectionState::idle) return ask();
  if (!may_ask_() || connection_.is_open() || state == pg::ConnectionState::connecting) return;
  // The link to the same database tells why not.
  connection_.connect([this](const Result<void>& connected) {
    if (connected) ask();
  });
}

void QueueSampler::ask() {
  connection_.query(kSample, {pg::Param::array(flow_slugs_)}, [this](const Result<pg::Rows>& rows) {
    heard(rows);
  });
}

void QueueSampler::heard(const Result<pg::Rows>& rows) {
  if (!rows) {
    if (!pg::is_database_down(rows.error()) && !std::exchange(failed_, true)) {
      log::warn("queues.not_sampled", rows.error());
    }
    return;
  }
  failed_ = false;
  std::vector<QueueSample> samples;
  for (const pg::Row row : *rows) {
    QueueSample& sample = samples.emplace_back();
    sample.flow_slug = row[0].text();
    sample.step_slug = row[1].text();
    sample.queue_name = row[2].text();
    sample.ready = row[3].int64();
    sample.in_flight = row[4].int64();
    if (!row[5].is_null()) sample.oldest_seconds = static_cast<double>(row[5].int64());
    sample.live_workers = row[6].integer();
  }
  metrics_.sampled(std::move(samples));
}

}  // namespace pgflow::supervisor
