#include "supervisor/control/socket_address.hpp"

#include <fcntl.h>

#include <string>

namespace pgflow::supervisor {

SocketAddress::SocketAddress(const std::filesystem::path& path) {
  address_.sun_family = AF_UNIX;
  std::string text = path.string();
  if (text.size() >= sizeof address_.sun_path) {
    folder_ = UniqueFd(open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    text = "/proc/self/fd/" + std::to_string(folder_.get()) + "/" + path.filename().string();
  }
  text.copy(address_.sun_path, sizeof address_.sun_path - 1);
}

}  // namespace pgflow::supervisor
