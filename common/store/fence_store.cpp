// pgflow.supervisor_heartbeat, ack_fence and mark_supervisor_stopped.
#include "store/fence_store.hpp"

#include "base/bug.hpp"
#include "json/value.hpp"

namespace pgflow::store {
namespace {

constexpr pg::Query kHeartbeat{
    "supervisor_heartbeat",
    "select fence_id, pg_catalog.to_jsonb(function_names), owner, reason, is_acked"
    "  from pgflow.supervisor_heartbeat($1::uuid, $2::text, $3::text, $4::int, $5::text[])",
    std::chrono::seconds(10),
};
constexpr pg::Query kAck{
    "ack_fence",
    "select pgflow.ack_fence($1::uuid, $2::uuid)",
    std::chrono::seconds(10),
};
constexpr pg::Query kMarkStopped{
    "mark_supervisor_stopped",
    "select pgflow.mark_supervisor_stopped($1::uuid)",
    std::chrono::seconds(10),
};

StandingFence fence_in(const pg::Row& row) {
  const auto names = json::parse(row[1].view());
  if (!names) PGFLOW_BUG("jsonb that is not JSON");
  StandingFence fence{
      .fence_id = row[0].text(),
      .function_names = {},
      .owner = row[2].text(),
      .reason = row[3].text(),
      .acked = row[4].boolean(),
  };
  for (const json::Value& name : names->items) fence.function_names.push_back(name.text);
  return fence;
}

}  // namespace

void FenceStore::heartbeat(const SupervisorRow& row, Answer<std::vector<StandingFence>> answer) {
  connection_.query(
      kHeartbeat,
      {row.generation, row.name, row.host_id, row.pid, pg::Param::array(row.function_names)},
      reading_each(fence_in, std::move(answer))
  );
}

void FenceStore::ack(
    const std::string& fence_id, const std::string& generation, Answer<bool> answer
) {
  connection_.query(
      kAck,
      {fence_id, generation},
      reading([](const pg::Rows& rows) { return rows[0][0].boolean(); }, std::move(answer))
  );
}

void FenceStore::mark_stopped(const std::string& generation, Answer<void> answer) {
  connection_.query(kMarkStopped, {generation}, reading_nothing(std::move(answer)));
}

}  // namespace pgflow::store
