#include "local_pg/binaries.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <vector>

namespace pgflow::local_pg {
namespace {

namespace fs = std::filesystem;

// The first 4 kB that a shell command prints, or nothing when it fails.
std::string output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen((command + " 2>/dev/null").c_str(), "re"), &pclose
  );
  if (!pipe) return {};
  std::array<char, 4096> buffer{};
  std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe.get());
  return {buffer.data(), size};
}

std::string quoted(const fs::path& path) {
  std::string result = "'";
  for (char c : path.string()) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

bool executable(const fs::path& program) {
  return access(program.c_str(), X_OK) == 0;
}

// Nothing when the folder holds no usable server.
std::optional<Binaries> inspect(const fs::path& folder) {
  Binaries found;
  std::error_code ignored;
  found.folder = fs::absolute(folder, ignored);
  if (!executable(found.initdb()) || !executable(found.postgres())) return std::nullopt;
  std::optional<std::string> version =
      parse_server_version(output_of(quoted(found.postgres()) + " --version"));
  if (!version) return std::nullopt;
  found.version = *version;
  std::from_chars(version->data(), version->data() + version->size(), found.major);
  return found;
}

// Folders named `prefix*` below `parent`, each with `suffix` appended.
void add_versioned(
    const fs::path& parent,
    std::string_view prefix,
    const fs::path& suffix,
    std::vector<fs::path>& out
) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) out.push_back(entry.path() / suffix);
  }
}

std::vector<fs::path> usual_folders() {
  std::vector<fs::path> folders;
  add_versioned("/usr/lib/postgresql", "", "bin", folders);
  add_versioned("/usr", "pgsql-", "bin", folders);
  std::string configured = output_of("pg_config --bindir");
  while (!configured.empty() && configured.back() == '\n') configured.pop_back();
  if (!configured.empty()) folders.emplace_back(configured);
  if (const char* search = std::getenv("PATH")) {
    std::string_view rest = search;
    while (!rest.empty()) {
      std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  return folders;
}

bool supported(const Binaries& binaries) {
  return binaries.major >= kOldestMajor && binaries.major <= kNewestMajor;
}

Error wrong_version(const Binaries& found, int data_major) {
  return {
      "local_pg",
      fmt::format(
          "the database files were made by PostgreSQL {}, the server is {}",
          data_major,
          found.version
      ),
      fmt::format("server: {}", found.folder.string()),
      fmt::format(
          "install PostgreSQL {0} (Debian: apt install postgresql-{0}), or move the data folder "
          "away to begin anew",
          data_major
      )
  };
}

Result<Binaries> accept_wanted(const fs::path& folder, std::optional<int> data_major) {
  std::optional<Binaries> found = inspect(folder);
  if (!found) {
    return tl::unexpected(Error{
        "local_pg",
        fmt::format("no PostgreSQL server in {}", folder.string()),
        "initdb and postgres are needed there",
        "give the folder that holds both, for example /usr/lib/postgresql/15/bin"
    });
  }
  if (!supported(*found)) {
    return tl::unexpected(Error{
        "local_pg",
        fmt::format("PostgreSQL {} is not supported", found->version),
        fmt::format("versions {} to {} are", kOldestMajor, kNewestMajor),
        "install one of these, for example with apt install postgresql"
    });
  }
  if (data_major && *data_major != found->major)
    return tl::unexpected(wrong_version(*found, *data_major));
  return *found;
}

}  // namespace

Result<Binaries> find_binaries(
    const std::optional<fs::path>& wanted, std::optional<int> data_major
) {
  if (wanted) return accept_wanted(*wanted, data_major);
  std::optional<Binaries> best;
  std::optional<Binaries> unfit;
  for (const fs::path& folder : usual_folders()) {
    std::optional<Binaries> found = inspect(folder);
    if (!found) continue;
    if (!supported(*found) || (data_major && found->major != *data_major)) {
      unfit = found;
    } else if (!best || found->major > best->major) {
      best = found;
    }
  }
  if (best) return *best;
  if (unfit && data_major) return tl::unexpected(wrong_version(*unfit, *data_major));
  return tl::unexpected(Error{
      "local_pg",
      "PostgreSQL is not installed",
      "looked in /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin, pg_config --bindir and PATH for "
      "initdb and postgres",
      "install it (Debian: apt install postgresql), name its folder in PGFLOW_PG_BIN, "
      "or use an existing database with DATABASE_URL"
  });
}

std::optional<std::string> parse_server_version(std::string_view text) {
  constexpr std::string_view kMark = "(PostgreSQL) ";
  std::size_t begin = text.find(kMark);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + kMark.size());
  std::size_t end = std::min(text.find_first_of(" \n"), text.size());
  if (end == 0 || text[0] < '0' || text[0] > '9') return std::nullopt;
  return std::string(text.substr(0, end));
}

}  // namespace pgflow::local_pg
