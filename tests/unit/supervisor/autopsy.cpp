#include "supervisor/autopsy.hpp"

#include <signal.h>

#include "support/catch.hpp"

using namespace pgflow;
using namespace pgflow::supervisor;
using contract::ExitReaction;

namespace {

LastMoments last(uv::ChildProcess::Exit exit, int tasks) {
  LastMoments moments;
  moments.exit = exit;
  for (int i = 1; i <= tasks; ++i) moments.running.push_back(i);
  return moments;
}

}  // namespace

TEST_CASE("the only task of a worker that crashes is guilty", "[supervisor][autopsy]") {
  const int signal = GENERATE(SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL);
  const auto verdict = judge(last({0, signal}, 1));
  CHECK(verdict.reaction == ExitReaction::crash);
  CHECK(verdict.reason == "crash_signal");
  CHECK(verdict.guilty == std::vector<MessageId>{MessageId(1)});
}

TEST_CASE("among several tasks nobody is guilty", "[supervisor][autopsy]") {
  const int tasks = GENERATE(0, 2, 16);
  CHECK(judge(last({0, SIGSEGV}, tasks)).guilty.empty());
  CHECK(judge(last({7, 0}, tasks)).guilty.empty());
}

TEST_CASE("a kill from outside makes nobody guilty", "[supervisor][autopsy]") {
  const auto verdict = judge(last({0, SIGKILL}, 1));
  CHECK(verdict.reason == "external_kill");
  CHECK(verdict.guilty.empty());
  CHECK(judge(last({0, SIGTERM}, 1)).reason == "external_signal");
}

TEST_CASE("a kill of the kernel's is told apart, and its only task pays", "[supervisor][autopsy]") {
  auto moments = last({0, SIGKILL}, 1);
  moments.oom_killed = true;
  const auto verdict = judge(moments);
  CHECK(verdict.reason == "oom");
  CHECK(verdict.guilty == std::vector<MessageId>{MessageId(1)});
}

TEST_CASE("our own kill makes nobody guilty and keeps its reason", "[supervisor][autopsy]") {
  auto moments = last({0, SIGKILL}, 1);
  moments.our_reason = "hung";
  const auto verdict = judge(moments);
  CHECK(verdict.reason == "hung");
  CHECK(verdict.guilty.empty());
}

TEST_CASE("a task that ends the process is guilty, whatever the code", "[supervisor][autopsy]") {
  const int code = GENERATE(0, 1, 7, 70);
  const auto verdict = judge(last({code, 0}, 1));
  CHECK(verdict.reaction == ExitReaction::crash);
  CHECK(verdict.guilty == std::vector<MessageId>{MessageId(1)});
}

TEST_CASE("a drained worker owes nothing", "[supervisor][autopsy]") {
  auto moments = last({0, 0}, 1);
  moments.drained = true;
  const auto verdict = judge(moments);
  CHECK(verdict.reaction == ExitReaction::replace);
  CHECK(verdict.reason == "drained");
  CHECK(verdict.guilty.empty());
}

TEST_CASE("a worker that cannot go on makes no task guilty", "[supervisor][autopsy]") {
  const int code = GENERATE(64, 65, 75, 77, 78, 79, 80);
  CHECK(judge(last({code, 0}, 1)).guilty.empty());
}

TEST_CASE("a permanent exit is believed at the start only", "[supervisor][autopsy]") {
  const int code = GENERATE(64, 65, 77, 78);
  auto moments = last({code, 0}, 1);
  CHECK(judge(moments).reaction == ExitReaction::give_up);
  // Others have worked: what is wrong has changed since, and may change again.
  moments.pool_was_ready = true;
  CHECK(judge(moments).reaction == ExitReaction::stay_down);
  // Afterwards it is a handler that called exit(), or a right that was taken away.
  moments.was_ready = true;
  CHECK(judge(moments).reaction == ExitReaction::crash);
  CHECK(judge(moments).guilty == std::vector<MessageId>{MessageId(1)});
}

TEST_CASE("the text names the code and the worker's own reason", "[supervisor][autopsy]") {
  auto moments = last({78, 0}, 0);
  moments.fatal = contract::Fatal{"routing", "The routes differ.", "", ""};
  CHECK(
      judge(moments).text ==
      "ended with exit code 78 (config invalid or different from the database): The routes "
      "differ."
  );
}
