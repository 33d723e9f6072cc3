// PgBouncer in transaction mode before the test cluster.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace pgflow::test {

class Pooler {
 public:
  Pooler(const Server& server, int pool_size) {
    const std::string config = folder_.path() + "/pgbouncer.ini";
    std::ofstream(config) << "[databases]\n* = host=" << server.host << " port=" << server.port
                          << " user=" << server.user << "\n[pgbouncer]\nlisten_addr =\n"
                          << "unix_socket_dir = " << folder_.path() << "\nlisten_port = 6432\n"
                          << "auth_type = any\npool_mode = transaction\n"
                          << "default_pool_size = " << pool_size << "\n";
    std::vector<std::string> command{"/usr/sbin/pgbouncer", config};
    if (::geteuid() == 0) {  // it refuses to run as root
      std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
      command.insert(
          command.begin(),
          {"/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}
      );
    }
    process_ = std::make_unique<Process>(Command{command});
    eventually("the pooler listens", 10s, [&] {
      return std::filesystem::exists(folder_.path() + "/.s.PGSQL.6432");
    });
  }

  // A later keyword wins.
  std::string url(const std::string& database_url) const {
    return database_url + " host=" + folder_.path() + " port=6432";
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Process> process_;
};

}  // namespace pgflow::test
