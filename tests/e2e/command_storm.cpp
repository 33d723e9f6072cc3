// 2,000 commands, of which a third crash, hang, flood or leave daemons behind, in one worker.
#include <signal.h>

#include <filesystem>
#include <map>

#include "integration/command_bench.hpp"

using namespace pgflow::test;

namespace {

constexpr int kCommands = 2'000;

struct Misdeed {
  std::string script;
  std::string error;  // how the stored error begins; empty: the task completes
};

// The third one of three tasks, in turn. Hangs and floods cost seconds, so they are few of many.
const std::vector<Misdeed>& misdeeds() {
  static const std::vector<Misdeed> all = [] {
    std::vector<Misdeed> list;
    const auto add = [&](int times, const std::string& script, const std::string& error) {
      for (int i = 0; i < times; ++i) list.push_back({script, error});
    };
    add(12, "exit 3", "exited with 3");
    add(12, "kill -SEGV $$", "died of SIGSEGV");
    add(12, "kill -9 $$", "died of SIGKILL");
    add(2, "trap : TERM; setsid sleep 31415 & while :; do sleep 1; done", "timed out after 15 s");
    add(2, "yes | head -c 3000000", "stdout is not one JSON value");
    add(2,
        "yes 0123456789012345678901234567890123456789 | head -c 3000000 >&2; exit 4",
        "exited with 4: ");
    add(12, "setsid sleep 31415 & (setsid sleep 31415 &); echo 1", "");
    add(12, "env -i setsid sleep 31415 & sleep 31415 & exit 5", "exited with 5");
    add(12, "echo debug; echo 1", "stdout is not one JSON value");
    add(12, "exec 0<&- 1<&- 2<&-; sleep 31415 & kill -ABRT $$", "died of SIGABRT");
    return list;
  }();
  return all;
}

// The script of the i-th task and what must come of it.
Misdeed deed(int i) {
  if (i % 3 != 0) return {"echo 1", ""};
  return misdeeds()[static_cast<std::size_t>(i / 3) % misdeeds().size()];
}

int descriptors_of(const Process& process) {
  int count = 0;
  for ([[maybe_unused]] const auto& fd :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process.pid()) + "/fd"))
    ++count;
  return count;
}

// Children, zombies included, of any of its threads.
std::string children_of(const Process& process) {
  std::string all;
  const std::string tasks = "/proc/" + std::to_string(process.pid()) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(tasks))
    all += read_file(thread.path().string() + "/children");
  return all;
}

}  // namespace

TEST_CASE("2,000 commands, a third of them wild, leave nothing behind", "[e2e][commands]") {
  const CommandBench bench(kScripts);
  const auto worker = bench.start("work", {"--max-concurrent", "16"});
  // One attempt each: the error of every attempt is what is checked. Time enough for the innocent
  // on a busy machine.
  bench.database.rows("update pgflow.steps set opt_max_attempts = 1, opt_timeout = 15");
  bench.await_task(bench.run("echo 1"), "completed");
  eventually("it is idle", 5s, [&] { return children_of(*worker).empty(); });
  const int before = descriptors_of(*worker);

  std::string values;
  for (int i = 0; i < kCommands; ++i) {
    values += (i == 0 ? "" : ",") + ("('\"" + deed(i).script + "\"')");
  }
  bench.database.rows(
      "select pgflow.start_flow('shellV1', script::jsonb) from (values " + values + ") as v(script)"
  );
  eventually("all have ended", 200s, [&] {
    return bench.database.value("select count(*) from pgflow.runs where status = 'started'") == "0";
  });

  std::map<std::string, std::string> expected;
  for (int i = 0; i < kCommands; ++i) expected.emplace(deed(i).script, deed(i).error);
  int seen = 0;
  for (const auto& row : bench.database.rows(
           "select r.input #>> '{}', t.status, t.attempts_count, coalesce(t.error_message, '')"
           " from pgflow.step_tasks t join pgflow.runs r using (run_id)"
       )) {
    CAPTURE(row[0]);
    const std::string& error = expected.at(row[0]);
    CHECK(row[1] == (error.empty() ? "completed" : "failed"));
    CHECK(row[2] == "1");
    CHECK(row[3].substr(0, error.size()) == error);
    ++seen;
  }
  CHECK(seen == kCommands + 1);

  eventually("no child is left, dead or alive", 5s, [&] { return children_of(*worker).empty(); });
  CHECK(bench.processes_of(*worker).empty());
  CHECK(descriptors_of(*worker) == before);
  worker->signal(SIGTERM);
  CHECK(worker->wait(20s) == 0);
}
