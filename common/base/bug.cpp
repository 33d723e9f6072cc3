// Writes with write(2) only: the heap or the logger may be what is broken.
#include "base/bug.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace pgflow {

void bug(const char* file, int line, std::string_view what) noexcept {
  char text[1024];
  const int length = std::snprintf(
      text,
      sizeof text,
      "bug: %.*s (%s:%d)\n",
      static_cast<int>(what.size()),
      what.data(),
      file,
      line
  );
  if (length > 0) {
    const auto size = static_cast<std::size_t>(length);
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, text, size < sizeof text ? size : sizeof text - 1);
  }
  std::abort();
}

}  // namespace pgflow
