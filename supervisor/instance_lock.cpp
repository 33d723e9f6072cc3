#include "supervisor/instance_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

namespace pgflow::supervisor {
namespace {

Error unusable(const std::filesystem::path& path, const char* what) {
  return {
      .kind = "state_dir_unusable",
      .message = "Cannot use " + path.string() + ".",
      .detail = std::string(what) + ": " + std::strerror(errno),
      .hint = "supervisor.state_dir must be a folder that this user may write to."
  };
}

// Whole content at once, so that a reader never sees half of it.
bool overwrite(int fd, const std::string& text) {
  return pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

constexpr std::size_t kOwnerWidth = 96;  // no owner's text is longer

bool overwrite_owner(int fd, std::string text) {
  text.resize(kOwnerWidth - 1, ' ');
  return overwrite(fd, text + '\n');
}

std::filesystem::path lock_file(const std::filesystem::path& state_dir) {
  return state_dir / "supervisor.lock";
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result<UniqueFd> lock_state_dir(const std::filesystem::path& state_dir) {
  std::error_code error;
  std::filesystem::create_directories(state_dir / "slots", error);
  if (error) {
    errno = error.value();
    return fail(unusable(state_dir, "mkdir"));
  }
  const auto path = lock_file(state_dir);
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail(unusable(path, "open"));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(unusable(path, "flock"));
    std::string holder = content(path);
    while (!holder.empty() && holder.back() == '\n') holder.pop_back();
    return fail(
        {.kind = "locked",
         .message = "Another supervisor runs on " + state_dir.string() + ".",
         .detail = holder.empty() ? "" : "Its pid is " + holder + ".",
         .hint = "Stop it first, or give this one its own supervisor.state_dir."}
    );
  }
  // For people only: every decision is made by the lock.
  if (ftruncate(fd.get(), 0) != 0 || !overwrite(fd.get(), std::to_string(getpid()) + "\n")) {
    return fail(unusable(path, "write"));
  }
  return fd;
}

bool is_found(const UniqueFd& lock, const std::filesystem::path& state_dir) {
  struct stat ours{};
  struct stat there{};
  return fstat(lock.get(), &ours) == 0 && stat(lock_file(state_dir).c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

std::filesystem::path slot_lock_path(
    const std::filesystem::path& state_dir,
    const std::string& flow_slug,
    const std::string& step_slug,
    int number
) {
  return state_dir / "slots" /
         (flow_slug + "." + step_slug + "." + std::to_string(number) + ".lock");
}

Result<std::optional<UniqueFd>> try_slot_lock(const std::filesystem::path& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail(unusable(path, "open"));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<UniqueFd>(std::move(fd));
  if (errno != EWOULDBLOCK) return fail(unusable(path, "flock"));
  return std::optional<UniqueFd>();
}

Result<void> write_slot_owner(int lock_fd, const SlotOwner& owner) {
  std::ostringstream text;
  text << owner.worker_id.text() << ' ' << owner.pid << ' ' << owner.start_time;
  if (!overwrite_owner(lock_fd, text.str())) return fail(unusable("a slot's lock file", "write"));
  return {};
}

void clear_slot_owner(const std::filesystem::path& path) {
  // Failure is harmless: the next start releases a worker that has nothing left to release.
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd) overwrite_owner(fd.get(), "");
}

std::optional<SlotOwner> read_slot_owner(const std::filesystem::path& path) {
  std::istringstream text(content(path));
  std::string id;
  text >> id;
  const auto worker_id = WorkerId::parse(id);
  if (!worker_id) return std::nullopt;
  SlotOwner owner{.worker_id = *worker_id};
  text >> owner.pid >> owner.start_time;
  return owner;
}

}  // namespace pgflow::supervisor
