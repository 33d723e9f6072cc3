// What the environment says to a worker, a client or a test.
#pragma once

#include <initializer_list>
#include <string_view>

#include "pg/dsn.hpp"

namespace pgflow {

// The first of these variables that is set and not empty, "" when none is.
const char* first_set(std::initializer_list<const char*> variables);

// The program's own word first, then upstream's order; empty leaves it to libpq's PG* variables.
Result<pg::Dsn> find_database(std::string_view connection_string);

}  // namespace pgflow
