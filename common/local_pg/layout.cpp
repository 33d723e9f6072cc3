#include "local_pg/layout.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

namespace pgflow::local_pg {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSocketName = "/.s.PGSQL.5432";

std::uint32_t short_hash(std::string_view text
) {  // FNV-1a: stable between builds, unlike std::hash
  std::uint32_t hash = 2166136261U;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619U;
  return hash;
}

bool fits(const fs::path& run_dir) {
  return run_dir.native().size() + kSocketName.size() <= kLongestSocketPath;
}

fs::path usual_run_dir(const fs::path& data) {
  std::string id = fmt::format("{:08x}", short_hash(data.native()));
  if (geteuid() == 0) return fs::path("/run/pgflow") / id;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/') {
    fs::path candidate = fs::path(runtime) / "pgflow" / id;
    std::error_code ignored;
    if (fits(candidate) && fs::is_directory(runtime, ignored)) return candidate;
  }
  return fs::path("/tmp") / fmt::format("pgflow-{}", geteuid()) / id;
}

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (unsigned char c : text) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      result += static_cast<char>(c);
    } else {
      result += fmt::format("%{:02X}", c);
    }
  }
  return result;
}

std::string conninfo_quoted(const std::string& value) {
  if (value.find_first_of(" '\\") == std::string::npos) return value;
  std::string result = "'";
  for (char c : value) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

bool is_postgres(pid_t pid) {
  std::ifstream comm(fmt::format("/proc/{}/comm", pid));
  std::string name;
  return std::getline(comm, name) && (name == "postgres" || name == "postmaster");
}

}  // namespace

Result<Layout> plan_layout(const fs::path& root, const fs::path& run_dir) {
  std::error_code error;
  Layout layout;
  layout.root = fs::weakly_canonical(root, error);
  if (error) layout.root = fs::absolute(root, error);
  layout.data = layout.root / "data";
  layout.unborn = layout.root / "data.tmp";
  layout.lock = layout.root / "lock";
  layout.run_dir = run_dir.empty() ? usual_run_dir(layout.data) : fs::absolute(run_dir, error);
  if (!fits(layout.run_dir)) {
    return tl::unexpected(Error{
        "local_pg",
        fmt::format("the socket folder's path is too long: {}", layout.run_dir.string()),
        fmt::format(
            "with {} it has {} bytes, a unix socket allows {}",
            kSocketName,
            layout.run_dir.native().size() + kSocketName.size(),
            kLongestSocketPath
        ),
        "set XDG_RUNTIME_DIR to a folder with a shorter path, or unset it to use /tmp"
    });
  }
  return layout;
}

std::string Endpoint::uri() const {
  return fmt::format(
      "postgresql:///{}?host={}&user=pgflow", database, percent_encoded(socket_dir.native())
  );
}

std::string Endpoint::conninfo() const {
  return fmt::format(
      "host={} user=pgflow dbname={}", conninfo_quoted(socket_dir.native()), database
  );
}

std::optional<Postmaster> running_postmaster(const fs::path& data) {
  // Lines: pid, data folder, start time, port, socket folder, listen address, shared memory key,
  // status.
  std::ifstream file(data / "postmaster.pid");
  std::array<std::string, 8> lines;
  for (std::string& line : lines) std::getline(file, line);
  Postmaster server;
  server.pid = static_cast<pid_t>(std::atoi(lines[0].c_str()));
  server.socket_dir = lines[4];
  server.ready = lines[7].starts_with("ready");
  if (server.pid <= 0) return std::nullopt;
  if (kill(server.pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  // The number may belong to another program by now.
  if (!is_postgres(server.pid)) return std::nullopt;
  return server;
}

std::optional<int> data_major(const fs::path& data) {
  std::ifstream file(data / "PG_VERSION");
  int major = 0;
  if (file >> major) return major;
  return std::nullopt;
}

}  // namespace pgflow::local_pg
