// Who this process is: its worker id, its name, and the supervisor that started it, if one did.
#pragma once

#include <pgflow/detail/worker_plan.hpp>

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "contract/board.hpp"

namespace pgflow::worker {

struct Identity {
  WorkerId worker_id;  // fresh in every process; the supervisor's choice under a supervisor
  std::string function_name;
  std::optional<int> supervisor_socket;
  std::optional<std::string> revision;
  // Where the supervisor sees which tasks run.
  std::shared_ptr<contract::Board> board =
      std::make_shared<contract::Board>(contract::Board::of_our_own());
  bool guest = false;  // a thread of somebody else's program, whose signals are not ours

  bool supervised() const { return supervisor_socket.has_value(); }
};

// From the environment. Keeps the supervisor's descriptors from every child of ours.
Result<Identity> adopt_identity(const detail::WorkerPlan& plan);

}  // namespace pgflow::worker
