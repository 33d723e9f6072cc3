// One worker a process: the right to be it, taken once.
#include <pgflow/detail/worker_plan.hpp>

#include <atomic>

namespace pgflow::detail {

void claim_process() {
  // A second worker in one process would claim under one identity twice, which is what the fences
  // in the database stand on.
  static constinit std::atomic_flag claimed = ATOMIC_FLAG_INIT;
  if (claimed.test_and_set()) throw AlreadyStartedError();
}

}  // namespace pgflow::detail
