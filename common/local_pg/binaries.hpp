// Where PostgreSQL's programs are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pgflow::local_pg {

inline constexpr int kOldestMajor = 14;
inline constexpr int kNewestMajor = 18;

// One installed server: initdb and postgres always come from the same folder.
struct Binaries {
  std::filesystem::path folder;
  int major = 0;
  std::string version;  // "15.18"

  std::filesystem::path initdb() const { return folder / "initdb"; }
  std::filesystem::path postgres() const { return folder / "postgres"; }
};

// `wanted` (--pg-bin, PGFLOW_PG_BIN) or the newest installed server that we support; when
// `data_major` is given, the server of exactly that major version, because no other can read those
// files.
Result<Binaries> find_binaries(
    const std::optional<std::filesystem::path>& wanted, std::optional<int> data_major
);

// The version in what `postgres --version` prints: "15.18" of "postgres (PostgreSQL) 15.18
// (Debian 15.18-0+deb12u1)".
std::optional<std::string> parse_server_version(std::string_view text);

}  // namespace pgflow::local_pg
