// Where a project keeps its private database.
#pragma once

#include <filesystem>
#include <optional>

#include "local_pg/layout.hpp"

namespace pgflow::cli {

// PGFLOW_DATA_DIR, else .pgflow in the project; for root, whose server runs as another user, in
// /var/lib/pgflow when that user may not enter the project.
std::filesystem::path data_root(const std::filesystem::path& project);

// The private database of this project, if it runs now.
std::optional<local_pg::Endpoint> running_database(const std::filesystem::path& project);

// The folder of the config file, or the current one.
std::filesystem::path project_of(const std::optional<std::filesystem::path>& config);

}  // namespace pgflow::cli
