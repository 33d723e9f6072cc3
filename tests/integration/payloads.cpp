// Real workers and a real database: odd and huge values go through, or fail their own attempt with
// a text that says why. Their neighbours, claimed in the same batch, never notice.
#include "integration/command_bench.hpp"

using namespace pgflow::test;

namespace {

struct Payload {
  const char* input;     // an SQL expression of type jsonb
  const char* expected;  // what the output is, as SQL about the task; or a part of the error
  bool fails = false;
};

constexpr const char* kSameAsInput =
    "output = (select input from pgflow.runs r where r.run_id = t.run_id)";
constexpr const char* kFiftyMegabytes = "to_jsonb(repeat('x', 50000000))";

// Starts a run for each in one statement, so that one look of the worker finds them all.
void check_one_batch(const CommandBench& bench, const std::vector<Payload>& payloads) {
  std::string inputs;
  for (const Payload& payload : payloads) {
    if (!inputs.empty()) inputs += ", ";
    inputs += payload.input;
  }
  const auto runs = bench.database.rows(
      "select started.run_id from unnest(array[" + inputs +
      "]::jsonb[]) with ordinality as given (input, n)"
      "  cross join lateral pgflow.start_flow('shellV1', given.input) started order by given.n"
  );
  REQUIRE(runs.size() == payloads.size());
  // Whatever is dropped waits for its visibility timeout, 10 minutes. What the database does with
  // 50 MB takes its time on a busy machine.
  eventually("all have ended", 240s, [&] {
    return bench.database.value(
               "select bool_and(status in ('completed', 'failed')) from pgflow.step_tasks"
           ) == "t";
  });
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    CAPTURE(payloads[i].input);
    const std::string run = runs[i][0];
    const std::string error = bench.task(run, "error_message");
    CAPTURE(error.substr(0, 200));
    CHECK(bench.task(run, "attempts_count") == "1");
    if (payloads[i].fails) {
      CHECK(bench.task(run, "status") == "failed");
      CHECK_THAT(error, Catch::Contains(payloads[i].expected));
      CHECK(error.size() <= 4'100);
      continue;
    }
    CHECK(bench.task(run, "status") == "completed");
    CHECK(
        bench.database.value(
            std::string("select ") + payloads[i].expected +
            " from pgflow.step_tasks t where run_id = '" + run + "'"
        ) == "t"
    );
  }
}

std::string handler(const std::string& more) {
  return R"({"slug": "work", "maxAttempts": 1, "timeout": 600, "handler": {)"
         R"("command": ["/usr/bin/python3", ")" PGFLOW_SOURCE_DIR
         R"(/tests/integration/programs/payload_step.py")" +
         more + "}}";
}

// What the three kinds of handlers say in their own words.
struct Words {
  const char* bad_utf8;
  const char* half_a_value;
  const char* shout;  // an error text of 5 MB of odd bytes
};

std::vector<Payload> payloads(const Words& words, const char* huge) {
  constexpr const char* good = "'{\"good\": [1, \"é\", null]}'";
  constexpr const char* unstorable = "U+0000, which PostgreSQL jsonb cannot store";
  constexpr const char* too_deep = "nested more than 512 levels deep";
  return {
      {good, kSameAsInput},
      {"'[123456789012345678901234567890, 0.1234567890123456789, -1e300]'", kSameAsInput},
      {"(repeat('[', 10000) || repeat(']', 10000))::jsonb", too_deep, true},
      {huge, kSameAsInput},
      {R"('{"act": "nul"}')", unstorable, true},
      {R"('{"act": "nul key"}')", unstorable, true},
      {R"('{"act": "surrogate"}')", "surrogate", true},
      {R"('{"act": "bytes"}')", words.bad_utf8, true},
      {R"('{"act": "half"}')", words.half_a_value, true},
      {R"('{"act": "deep"}')", too_deep, true},
      {R"('{"act": "number"}')", "output = '123456789012345678901234567890.5'"},
      {R"('{"act": "shout"}')", words.shout, true},
      {good, kSameAsInput},
  };
}

}  // namespace

TEST_CASE("odd and huge payloads of typed handlers concern their own task only", "[payloads]") {
  const CommandBench bench(kScripts);
  Process worker(Command{
      {PGFLOW_BIN_DIR "/payload_probe", "--step", "work", "--max-concurrent", "16"},
      {{"DATABASE_URL", bench.database.url()}}
  });
  eventually("the worker is ready", 20s, [&] {
    return worker.err().find("worker.ready") != std::string::npos;
  });
  check_one_batch(
      bench, payloads({"Invalid encoding", "holds invalid JSON", "\uFFFD"}, kFiftyMegabytes)
  );
  CHECK(worker.running());
}

TEST_CASE("odd and huge payloads of commands concern their own task only", "[payloads]") {
  constexpr const char* kNoValue = "stdout is not one JSON value";
  const CommandBench bench(handler("]"));
  const auto worker = bench.start("work", {"--max-concurrent", "16"});
  check_one_batch(bench, payloads({kNoValue, kNoValue, "exited with 1"}, kFiftyMegabytes));
  CHECK(worker->running());
}

TEST_CASE(
    "odd and huge payloads of persistent commands concern their own task only", "[payloads]"
) {
  constexpr const char* kNoLine = "a line of stdout is no JSON object";
  const CommandBench bench(handler(R"(, "persistent"], "mode": "persistent")"));
  const auto worker = bench.start("work", {"--max-concurrent", "2"});
  check_one_batch(
      bench,
      payloads(
          {kNoLine, kNoLine, "U+0000, which PostgreSQL jsonb cannot store"},
          "to_jsonb(repeat('x', 5000000))"
      )
  );
  CHECK(worker->running());
}
