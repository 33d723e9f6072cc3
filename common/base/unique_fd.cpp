// Closing, in one place.
#include "base/unique_fd.hpp"

#include <unistd.h>

namespace pgflow {

void UniqueFd::reset(int fd) {
  // Not repeated on EINTR: Linux has released the number already, and a second close would hit a
  // stranger's file.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace pgflow
