// What the kernel tells of processes and their host: files under /proc, descriptors that name one
// process, the host's name.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace pgflow {

// The file /proc/<path>; empty when the process is gone.
std::string proc_file(const std::string& path);

// Of this process's first thread. The kernel gives orphans to a subreaper's first thread, and that
// thread lives as long as we do.
std::vector<pid_t> children_of_first_thread();

// Readable once the process has ended; not open when there is none.
UniqueFd open_pidfd(pid_t pid);

std::string host_name();

}  // namespace pgflow
