#include "local_pg/access.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace pgflow::local_pg {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> system_failure(std::string_view doing, const fs::path& path, int reason) {
  return fail({
      .kind = "os_error",
      .message = fmt::format("cannot {} {}", doing, path.string()),
      .detail = std::strerror(reason),
      .hint = "choose another folder, or correct its owner and permissions",
  });
}

std::vector<gid_t> groups_of(const passwd& user) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

bool may_enter(const struct stat& folder, const passwd& user, const std::vector<gid_t>& groups) {
  if (folder.st_uid == user.pw_uid) return (folder.st_mode & S_IXUSR) != 0;
  for (gid_t group : groups) {
    if (folder.st_gid == group) return (folder.st_mode & S_IXGRP) != 0;
  }
  return (folder.st_mode & S_IXOTH) != 0;
}

}  // namespace

std::optional<std::string> server_user() {
  if (geteuid() != 0) return std::nullopt;
  return "postgres";
}

std::optional<fs::path> first_closed_folder(const fs::path& path, const std::string& user) {
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) return std::nullopt;
  const std::vector<gid_t> groups = groups_of(*entry);
  fs::path way;
  for (const fs::path& part : path) {
    way /= part;
    struct stat status{};
    if (stat(way.c_str(), &status) != 0)
      return std::nullopt;  // what is not there yet will be made open
    if (S_ISDIR(status.st_mode) && !may_enter(status, *entry, groups)) return way;
  }
  return std::nullopt;
}

std::string calling_user() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : fmt::format("{}", geteuid());
}

Result<void> make_folder(
    const fs::path& path, mode_t mode, const std::optional<std::string>& user
) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return system_failure("make the folder", path.parent_path(), error.value());
  if (mkdir(path.c_str(), mode) != 0) {
    if (errno != EEXIST) return system_failure("make the folder", path, errno);
    struct stat status{};
    // In /tmp a stranger may have put a folder or a link in our place.
    if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return system_failure("use as a folder", path, ENOTDIR);
    }
    if (geteuid() != 0 && status.st_uid != geteuid()) return system_failure("own", path, EPERM);
  }
  if (chmod(path.c_str(), mode) != 0) return system_failure("set the permissions of", path, errno);
  return give_to(path, user);
}

Result<void> give_to(const fs::path& path, const std::optional<std::string>& user) {
  if (!user) return {};
  const passwd* entry = getpwnam(user->c_str());
  if (entry == nullptr) {
    return fail({
        .kind = "local_pg",
        .message = fmt::format("there is no user {}", *user),
        .detail = "PostgreSQL does not run as root, so root's private server runs as that user.",
        .hint = "install PostgreSQL's server package, which makes the user, or run pgflow as "
                "another user than root",
    });
  }
  if (lchown(path.c_str(), entry->pw_uid, entry->pw_gid) != 0)
    return system_failure("give away", path, errno);
  return {};
}

}  // namespace pgflow::local_pg
