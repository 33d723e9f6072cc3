// The SQL of migrations as text: what the migrator executes, and what `pgflow migrate sql` prints.
#pragma once

#include <string>
#include <string_view>

namespace pgflow::store {

int newest_version();                          // of this program
std::string_view migration_name(int version);  // "0002_step_queues"

// What every migration runs under: one at a time, with bounded waits for locks.
std::string begin_script();

// From one version to a later one (0: nothing is there); the functions belong to the newest version
// only and come along when `to` is that. From newest to newest puts the functions back.
std::string up_script(int from, int to);

// Upstream's tables become ours, then as up_script(1, newest).
std::string adoption_script();

// From one version back to an earlier one, at least 1. The functions go: those of the program that
// this version belongs to come with its `migrate up`. Where events go is kept.
std::string down_script(int from, int to);

// "{add_step,create_flow,…}": an array literal of the names of the functions that we install.
std::string function_names();

// A whole transaction for psql that refuses a database of another version than `from`.
std::string standalone_script(int from, int to);

}  // namespace pgflow::store
