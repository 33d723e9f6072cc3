#include "contract/exit_reaction.hpp"

#include "base/exit_code.hpp"
#include "support/catch.hpp"

using pgflow::ExitCode;
using pgflow::number;
using pgflow::contract::ExitReaction;
using pgflow::contract::reaction_to_exit;

TEST_CASE("an exit code that no restart can help makes the pool give up", "[contract]") {
  const auto code = GENERATE(
      ExitCode::usage, ExitCode::bad_definition, ExitCode::no_permission, ExitCode::config
  );
  CHECK(reaction_to_exit(number(code)) == ExitReaction::give_up);
}

TEST_CASE("what the worker did not cause is not counted as a crash", "[contract]") {
  CHECK(reaction_to_exit(number(ExitCode::ok)) == ExitReaction::replace);
  CHECK(reaction_to_exit(number(ExitCode::recycle)) == ExitReaction::replace);
  CHECK(reaction_to_exit(number(ExitCode::orphaned)) == ExitReaction::replace);
  CHECK(reaction_to_exit(number(ExitCode::handler_stuck)) == ExitReaction::replace);
  CHECK(reaction_to_exit(number(ExitCode::temporary)) == ExitReaction::try_later);
  CHECK(reaction_to_exit(number(ExitCode::unavailable)) == ExitReaction::try_later);
  CHECK(reaction_to_exit(number(ExitCode::locked)) == ExitReaction::try_later);
  CHECK(reaction_to_exit(number(ExitCode::fenced)) == ExitReaction::stay_down);
}

TEST_CASE("every other exit code is a crash", "[contract]") {
  const int code = GENERATE(1, 2, 7, 70, 71, 126, 127, 139, 255);
  CHECK(reaction_to_exit(code) == ExitReaction::crash);
}
