// Where the files of one private server lie.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace pgflow::local_pg {

// The longest path a unix socket may have (sun_path without its terminator).
inline constexpr std::size_t kLongestSocketPath = 107;

struct Layout {
  std::filesystem::path root;  // .pgflow
  std::filesystem::path data;  // root/data: a complete cluster, or nothing
  std::filesystem::path
      unborn;  // root/data.tmp: what initdb works in; a leftover is an interrupted initdb
  std::filesystem::path lock;     // root/lock: held by the process that owns the server
  std::filesystem::path run_dir;  // holds the socket; short, because socket paths are
};

// Paths only, touches nothing. `run_dir` empty: /run/pgflow/<id> for root,
// $XDG_RUNTIME_DIR/pgflow/<id>, or /tmp/pgflow-<uid>/<id>, where <id> is a short hash of the data
// folder.
Result<Layout> plan_layout(
    const std::filesystem::path& root, const std::filesystem::path& run_dir = {}
);

// How to reach a server: over its socket, as role pgflow, in database pgflow.
struct Endpoint {
  std::filesystem::path socket_dir;
  std::string database = "pgflow";

  std::string uri() const;       // postgresql:///pgflow?host=%2Frun%2F…&user=pgflow
  std::string conninfo() const;  // host=/run/… user=pgflow dbname=pgflow
};

// What a server says about itself in postmaster.pid.
struct Postmaster {
  pid_t pid = 0;
  std::filesystem::path socket_dir;
  bool ready = false;
};

// The server that works on this data folder now; nothing when none does (a stale file of a killed
// server included).
std::optional<Postmaster> running_postmaster(const std::filesystem::path& data);

// The major version that made the data folder; nothing when there is none yet.
std::optional<int> data_major(const std::filesystem::path& data);

}  // namespace pgflow::local_pg
