// Files of the state folder that are written anew as a whole: at every moment the old one or the
// new one is there.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::supervisor {

bool write_all(int fd, std::string_view text);

// On disk, with its name, when this returns; the descriptor appends to it. Error kind
// "state_dir_unusable", and the file is as it was.
Result<UniqueFd> replace_file(const std::filesystem::path& file, std::string_view text);

// What errno says about it now.
Error file_unusable(const std::filesystem::path& file);

}  // namespace pgflow::supervisor
