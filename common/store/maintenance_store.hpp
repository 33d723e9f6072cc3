// The sweeps that find what nobody else gave back.
#pragma once

#include "store/answer.hpp"

namespace pgflow::store {

class MaintenanceStore {
 public:
  explicit MaintenanceStore(pg::Connection& connection) : connection_(connection) {}

  // Tasks whose worker is silent since their timeout and 30 s more. Answers how many.
  void requeue_stalled(Answer<int> answer);

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
