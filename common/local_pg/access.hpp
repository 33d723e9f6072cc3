// Which user a private server runs as, and whether that user can reach a folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace pgflow::local_pg {

// PostgreSQL refuses to run as root: root's server runs as `postgres`. Nothing: as ourselves.
std::optional<std::string> server_user();

// The first folder on the way to `path` that `user` may not enter; nothing when the way is free.
std::optional<std::filesystem::path> first_closed_folder(
    const std::filesystem::path& path, const std::string& user
);

// The name of the calling user, for PostgreSQL's peer authentication.
std::string calling_user();

// Makes the folder (and those above it) if it is not there, with this mode, owned by `user` when
// given.
Result<void> make_folder(
    const std::filesystem::path& path, mode_t mode, const std::optional<std::string>& user
);

// Gives a file or folder to `user`; nothing to do without one.
Result<void> give_to(const std::filesystem::path& path, const std::optional<std::string>& user);

}  // namespace pgflow::local_pg
