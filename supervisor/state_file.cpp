#include "supervisor/state_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pgflow::supervisor {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<UniqueFd> replace_file(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path fresh = file.string() + ".new";
  UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!fd || !write_all(fd.get(), text) || fsync(fd.get()) != 0 ||
      rename(fresh.c_str(), file.c_str()) != 0) {
    const Error error = file_unusable(file);
    unlink(fresh.c_str());
    return fail(error);
  }
  const UniqueFd folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.get());
  return fd;
}

Error file_unusable(const std::filesystem::path& file) {
  return {
      .kind = "state_dir_unusable",
      .message = "Cannot write " + file.string() + ".",
      .detail = std::strerror(errno),
      .hint = "Make room on the disk, or correct the rights of the state folder."
  };
}

}  // namespace pgflow::supervisor
