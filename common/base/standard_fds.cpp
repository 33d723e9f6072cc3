#include "base/standard_fds.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace pgflow {

void open_missing_standard_fds() {
  // open() takes the lowest free number, so each call fills the first gap.
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace pgflow
