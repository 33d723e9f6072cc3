#include "worker/identity.hpp"

#include <fcntl.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "contract/environment.hpp"

namespace pgflow::worker {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

Error broken_contract(const char* name, const std::string& value) {
  return {
      .kind = "supervisor_contract",
      .message = std::string("The variable ") + name + " has a value that no supervisor gives: \"" +
                 value + "\".",
      .hint = std::string("Unset ") + contract::kSupervisorFdVariable + " to run a worker by hand.",
  };
}

Result<int> descriptor(const char* name, const std::string& value) {
  int fd = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fd);
  // A handler's child that inherited one would keep the supervisor from seeing our end.
  const bool usable = error == std::errc() && end == value.data() + value.size() && fd > 2 &&
                      ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
  if (!usable) return fail(broken_contract(name, value));
  return fd;
}

std::string function_name(const detail::WorkerPlan& plan) {
  const std::string& flow = plan.definition->slug;
  return variable("WORKER_NAME").value_or(plan.step_slug ? flow + "/" + *plan.step_slug : flow);
}

}  // namespace

Result<Identity> adopt_identity(const detail::WorkerPlan& plan) {
  Identity identity{
      .worker_id = WorkerId::random(),
      .function_name = function_name(plan),
      .supervisor_socket = {},
      .revision = variable(contract::kRevisionVariable),
  };
  const auto socket = variable(contract::kSupervisorFdVariable);
  if (!socket) return identity;

  const auto fd = descriptor(contract::kSupervisorFdVariable, *socket);
  if (!fd) return fail(fd.error());
  identity.supervisor_socket = *fd;
  if (const auto slot = variable(contract::kSlotFdVariable)) {
    if (const auto lock = descriptor(contract::kSlotFdVariable, *slot); !lock)
      return fail(lock.error());
  }
  if (const auto place = variable(contract::kBoardFdVariable)) {
    const auto shared = descriptor(contract::kBoardFdVariable, *place);
    if (!shared) return fail(shared.error());
    auto board = contract::Board::open(*shared);
    if (!board) return fail(board.error());
    *identity.board = std::move(*board);
  }
  const std::string protocol = variable(contract::kProtocolVariable).value_or("");
  if (protocol != std::to_string(contract::kProtocol)) {
    return fail(broken_contract(contract::kProtocolVariable, protocol));
  }
  const std::string given_id = variable(contract::kWorkerIdVariable).value_or("");
  const auto worker_id = WorkerId::parse(given_id);
  if (!worker_id) return fail(broken_contract(contract::kWorkerIdVariable, given_id));
  identity.worker_id = *worker_id;
  return identity;
}

}  // namespace pgflow::worker
