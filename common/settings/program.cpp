#include "settings/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace pgflow::settings {
namespace {

namespace fs = std::filesystem;

bool runnable(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

tl::expected<std::string, NoProgram> in_folder(const std::string& name, const fs::path& folder) {
  const fs::path file = (folder / name).lexically_normal();
  if (runnable(file)) return file.string();
  const std::string looked_at = fmt::format("It was looked for at {}.", file.string());
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return tl::unexpected(NoProgram{"is no program", looked_at});
  return tl::unexpected(NoProgram{
      "is not an executable file",
      fs::is_directory(file, ignored) ? looked_at : "chmod +x " + file.string()
  });
}

}  // namespace

tl::expected<std::string, NoProgram> find_program(
    const std::string& name, const fs::path& folder, const std::string& file
) {
  if (name.find('/') != std::string::npos) return in_folder(name, folder);
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / name;
    if (candidate.is_absolute() && runnable(candidate)) return candidate.string();
    begin = end + 1;
  }
  std::error_code ignored;
  const fs::path sibling = fs::read_symlink("/proc/self/exe", ignored).parent_path() / name;
  if (sibling.is_absolute() && runnable(sibling)) return sibling.string();
  return tl::unexpected(NoProgram{
      "is no program",
      fmt::format("It was looked for in PATH; write \"./{}\" for a file beside {}.", name, file)
  });
}

}  // namespace pgflow::settings
