// Where a program lies that a file of ours names.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace pgflow::settings {

struct NoProgram {
  std::string reason;  // "is no program"
  std::string hint;
};

// Its absolute path. A name with a slash is relative to `folder`; one without is looked up in PATH,
// then beside this very program, so that `pgflow` finds `pgflow-worker` without PATH. `file` names
// the file that says so, for the hint.
tl::expected<std::string, NoProgram> find_program(
    const std::string& name, const std::filesystem::path& folder, const std::string& file
);

}  // namespace pgflow::settings
