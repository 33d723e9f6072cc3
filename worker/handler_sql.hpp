// The Sql of a handler thread: one connection, driven by whichever call waits for an answer.
#pragma once

#include <pgflow/context.hpp>

#include <string>

#include "pg/dsn.hpp"

namespace pgflow {

// For Resources::each_thread: costs nothing until a handler asks something.
detail::Factory handler_sql(pg::Dsn dsn, std::string application_name);

}  // namespace pgflow
