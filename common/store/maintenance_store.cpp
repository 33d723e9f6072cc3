// pgflow.requeue_stalled_tasks.
#include "store/maintenance_store.hpp"

namespace pgflow::store {
namespace {

constexpr pg::Query kRequeueStalled{
    "requeue_stalled_tasks",
    "select pgflow.requeue_stalled_tasks()",
};

}  // namespace

void MaintenanceStore::requeue_stalled(Answer<int> answer) {
  connection_.query(
      kRequeueStalled,
      {},
      reading([](const pg::Rows& rows) { return rows[0][0].integer(); }, std::move(answer))
  );
}

}  // namespace pgflow::store
