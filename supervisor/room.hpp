// The control room of a verb: where the supervisor listens, and what it answers.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/commands/command.hpp"
#include "supervisor/control/documents.hpp"
#include "supervisor/control/http_client.hpp"

namespace pgflow::cli {

// One pool, or without a step all pools of a flow.
struct PoolTarget {
  std::string flow;
  std::optional<std::string> step;
};

class Room {
 public:
  // --socket, PGFLOW_SOCKET, the config file's, .pgflow/control.sock here: the first that is named.
  static Outcome<Room> find(const Common& common);

  const std::filesystem::path& socket() const { return socket_; }

  // The reply, whatever its status. 69 when nobody answers.
  Outcome<supervisor::HttpReply> ask(
      const supervisor::HttpQuestion& question, std::chrono::milliseconds limit = kAnswerLimit
  ) const;
  // Its body; an error of the supervisor is one of ours.
  Outcome<std::string> get(const std::string& path) const;
  // An answer that goes on, piece by piece, until the supervisor ends it.
  Outcome<void> follow(const std::string& path, const std::function<void(std::string_view)>& heard)
      const;
  Outcome<supervisor::StatusDocument> status(std::chrono::milliseconds limit = kAnswerLimit) const;
  // "scale", "pause", …: what the pool looks like right after it.
  Outcome<supervisor::OrderDocument> order(
      const PoolTarget& pool, std::string_view verb, const std::string& body = {}
  ) const;
  Outcome<supervisor::OrderDocument> reset_scale(const PoolTarget& pool) const;
  Outcome<void> stop(const std::string& body) const;

 private:
  static constexpr std::chrono::seconds kAnswerLimit{10};

  Room(std::filesystem::path socket, std::string source)
      : socket_(std::move(socket)), source_(std::move(source)) {}
  Outcome<std::string> tell(
      const supervisor::HttpQuestion& question, std::chrono::milliseconds limit = kAnswerLimit
  ) const;

  Failure silence(Error error) const;

  std::filesystem::path socket_;
  std::string source_;
};

// "FLOW/STEP", "FLOW", or "STEP" when one flow alone has it. 66 with a guess, 64 when several have
// it.
Outcome<std::vector<PoolTarget>> resolve_pools(
    const supervisor::StatusDocument& status, const std::vector<std::string>& names
);
bool is_about(const supervisor::PoolDocument& pool, const PoolTarget& target);
std::string painted_pool_state(const Style& style, const std::string& state);
// "file 1x4, back in 5m00s"; empty without an override.
std::string override_text(const supervisor::PoolDocument& pool);
// "FLOW/STEP", or "FLOW" in queue mode flow.
std::string name_of(const supervisor::PoolDocument& pool);

}  // namespace pgflow::cli
