// Programs that may have no process more. Root has no such limit, so they run as the user whom the
// test server runs as, which is the only other one that reaches its socket.
#pragma once

#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/process.hpp"

namespace pgflow::test {

// Prefix of a command line: nothing unless root starts it.
inline std::vector<std::string> as_limited_user() {
  if (geteuid() != 0) return {};
  return {"/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"};
}

// The folder, and what is in it, becomes that user's.
inline void give_to_limited_user(const std::string& folder) {
  if (geteuid() != 0) return;
  const passwd* user = getpwnam("postgres");
  REQUIRE(user != nullptr);
  REQUIRE(chown(folder.c_str(), user->pw_uid, user->pw_gid) == 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    REQUIRE(chown(entry.path().c_str(), user->pw_uid, user->pw_gid) == 0);
  }
}

// From now on it can make neither processes nor threads, until that is lifted.
inline void limit_processes(pid_t pid, bool limited) {
  rlimit ours{};
  REQUIRE(getrlimit(RLIMIT_NPROC, &ours) == 0);
  const bool bounded = ours.rlim_max != RLIM_INFINITY;
  const std::string most = bounded ? std::to_string(ours.rlim_max) : "unlimited";
  std::vector<std::string> command = as_limited_user();  // who may change its limits
  command.insert(
      command.end(),
      {"/usr/bin/prlimit",
       "--pid=" + std::to_string(pid),
       "--nproc=" + (limited ? "1" : most) + ":" + most}
  );
  REQUIRE(Process({command}).wait(std::chrono::seconds(10)) == 0);
}

}  // namespace pgflow::test
