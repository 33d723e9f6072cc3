// worker/start_token: one start a process.
#include <pgflow/detail/worker_plan.hpp>

#include "support/catch.hpp"

TEST_CASE("a process is claimed once", "[worker][start_token]") {
  pgflow::detail::claim_process();
  CHECK_THROWS_AS(pgflow::detail::claim_process(), pgflow::AlreadyStartedError);
  CHECK_THROWS_AS(pgflow::detail::claim_process(), pgflow::AlreadyStartedError);
}
