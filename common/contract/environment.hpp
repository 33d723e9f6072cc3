// What a worker process finds around it when a supervisor started it: variables, descriptors,
// arguments.
#pragma once

#include <string_view>

namespace pgflow::contract {

// Version of the whole contract: environment, messages and describe output.
inline constexpr int kProtocol = 1;

// Variables. A worker is supervised exactly when kSupervisorFdVariable is set.
inline constexpr const char* kSupervisorFdVariable = "PGFLOW_SUPERVISOR_FD";
inline constexpr const char* kSlotFdVariable = "PGFLOW_SLOT_FD";
inline constexpr const char* kBoardFdVariable = "PGFLOW_BOARD_FD";
inline constexpr const char* kWorkerIdVariable = "PGFLOW_WORKER_ID";
inline constexpr const char* kSlotVariable = "PGFLOW_SLOT";
inline constexpr const char* kRevisionVariable = "PGFLOW_REVISION";
inline constexpr const char* kProtocolVariable = "PGFLOW_PROTOCOL";
// "1" or "0": whether its log has colour. The supervisor reads the log, so that no worker can see.
inline constexpr const char* kLogColourVariable = "PGFLOW_LOG_COLOUR";
inline constexpr const char* kDatabaseUrlVariable = "DATABASE_URL";

// Descriptors: the message socket, the slot's lock, which lives exactly as long as the worker, and
// the board (contract/board.hpp). The worker sets CLOEXEC on all before it does anything else.
inline constexpr int kSupervisorFd = 3;
inline constexpr int kSlotFd = 4;
inline constexpr int kBoardFd = 5;

// Arguments of a worker program.
inline constexpr const char* kDescribeFlag = "--pgflow-describe";
inline constexpr const char* kWorkerFlag = "--pgflow-worker";
inline constexpr const char* kFlowFlag = "--flow";
inline constexpr const char* kStepFlag = "--step";

// Prefix of application_name of every connection of a worker; the worker id follows it. The
// supervisor terminates a dead worker's backends by this name.
inline constexpr std::string_view kWorkerApplicationName = "pgflow:";
inline constexpr std::string_view kSupervisorApplicationName = "pgflow-supervisor";

}  // namespace pgflow::contract
