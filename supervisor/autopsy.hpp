// Why a worker died, and whether a task is to blame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "contract/exit_reaction.hpp"
#include "contract/messages.hpp"
#include "uv/child_process.hpp"

namespace pgflow::supervisor {

// What is known of a worker when it is reaped.
struct LastMoments {
  uv::ChildProcess::Exit exit;
  std::string our_reason;       // why we killed it; empty: we did not
  bool was_ready = false;       // it said READY
  bool pool_was_ready = false;  // another worker of its pool did, since the supervisor started
  bool drained = false;         // it said DRAINED
  bool oom_killed = false;      // by the kernel, because memory ran out
  int external_signal = 0;      // somebody else than we has told it to end
  std::optional<contract::Fatal> fatal;
  std::int64_t rss_bytes = 0;         // as it last said
  std::vector<std::int64_t> running;  // message ids of the tasks whose handlers ran
};

struct Verdict {
  contract::ExitReaction reaction = contract::ExitReaction::crash;
  std::string reason;             // stable word: "crash_signal", "external_kill", "hung", …
  std::string text;               // for people, and the error message of a guilty task
  std::vector<MessageId> guilty;  // at most one: among several nobody can be told apart
};

Verdict judge(const LastMoments& last);

}  // namespace pgflow::supervisor
