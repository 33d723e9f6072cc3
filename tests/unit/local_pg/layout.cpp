#include "local_pg/layout.hpp"

#include <unistd.h>

#include <fstream>

#include "local_pg/binaries.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

namespace local_pg = pgflow::local_pg;
using pgflow::test::TemporaryFolder;

TEST_CASE(
    "the same project gets the same socket folder, another project another one",
    "[local_pg][layout]"
) {
  auto one = local_pg::plan_layout("/tmp/project-one/.pgflow");
  auto again = local_pg::plan_layout("/tmp/project-one/.pgflow");
  auto two = local_pg::plan_layout("/tmp/project-two/.pgflow");
  REQUIRE((one && again && two));
  CHECK(one->run_dir == again->run_dir);
  CHECK(one->run_dir != two->run_dir);
}

TEST_CASE("a deep project still gets a socket path that fits", "[local_pg][layout]") {
  std::string deep = "/tmp/";
  while (deep.size() < 300) deep += "a-folder-with-a-long-name/";
  auto layout = local_pg::plan_layout(deep + ".pgflow");
  REQUIRE(layout);
  CHECK((layout->run_dir / ".s.PGSQL.5432").native().size() <= local_pg::kLongestSocketPath);
}

TEST_CASE(
    "a socket folder that was asked for and is too long is refused with a hint",
    "[local_pg][layout]"
) {
  const std::string socket = "/.s.PGSQL.5432";
  const std::string longest(local_pg::kLongestSocketPath - socket.size() - 1, 'x');
  CHECK(local_pg::plan_layout("/tmp/p/.pgflow", "/" + longest).has_value());
  auto refused = local_pg::plan_layout("/tmp/p/.pgflow", "/x" + longest);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("too long") != std::string::npos);
  CHECK(refused.error().detail.find("108 bytes") != std::string::npos);
  CHECK_FALSE(refused.error().hint.empty());
}

TEST_CASE(
    "an endpoint is printed as a URI and as keywords, with odd characters escaped",
    "[local_pg][layout]"
) {
  local_pg::Endpoint endpoint{.socket_dir = "/run/pgflow/3f9a"};
  CHECK(endpoint.uri() == "postgresql:///pgflow?host=%2Frun%2Fpgflow%2F3f9a&user=pgflow");
  CHECK(endpoint.conninfo() == "host=/run/pgflow/3f9a user=pgflow dbname=pgflow");
  local_pg::Endpoint odd{.socket_dir = "/tmp/it's here"};
  CHECK(odd.uri() == "postgresql:///pgflow?host=%2Ftmp%2Fit%27s%20here&user=pgflow");
  CHECK(odd.conninfo() == "host='/tmp/it\\'s here' user=pgflow dbname=pgflow");
}

TEST_CASE("a postmaster.pid of a process that is no server names no server", "[local_pg][layout]") {
  TemporaryFolder folder;
  CHECK_FALSE(local_pg::running_postmaster(folder.path()));
  std::ofstream(folder.path() + "/postmaster.pid")
      << getpid() << "\n/data\n1\n5432\n/run\n\n1 2\nready   \n";
  CHECK_FALSE(local_pg::running_postmaster(folder.path()));
}

TEST_CASE("a server's version is read from what it prints", "[local_pg][binaries]") {
  CHECK(
      local_pg::parse_server_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n") ==
      "15.18"
  );
  CHECK(local_pg::parse_server_version("postgres (PostgreSQL) 17devel\n") == "17devel");
  CHECK_FALSE(local_pg::parse_server_version("psql: not found"));
}

TEST_CASE(
    "a folder without a server and files of another version are refused with a hint",
    "[local_pg][binaries]"
) {
  TemporaryFolder folder;
  auto none = local_pg::find_binaries(folder.path(), std::nullopt);
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("no PostgreSQL server in") != std::string::npos);
  auto installed = local_pg::find_binaries(std::nullopt, std::nullopt);
  REQUIRE(installed);
  auto other = local_pg::find_binaries(installed->folder, installed->major - 1);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("were made by PostgreSQL") != std::string::npos);
  CHECK_FALSE(other.error().hint.empty());
}
