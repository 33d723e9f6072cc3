// The lines of docs/command-steps.md, without a command.
#include "worker/line_protocol.hpp"

#include "support/catch.hpp"

using namespace pgflow;
namespace protocol = worker::protocol;

namespace {

template <class Message>
Message read(std::string_view line) {
  const auto message = protocol::read_line(line);
  REQUIRE(message.has_value());
  REQUIRE(std::holds_alternative<Message>(*message));
  return std::get<Message>(*message);
}

std::string broken(std::string_view line) {
  const auto message = protocol::read_line(line);
  REQUIRE_FALSE(message.has_value());
  return message.error().message;
}

}  // namespace

TEST_CASE("a command is ready for one task, or for as many as it says", "[line protocol]") {
  CHECK(read<protocol::Ready>(R"({"type":"ready"})").concurrency == 1);
  CHECK(read<protocol::Ready>(R"({"type":"ready","protocol":1,"concurrency":4})").concurrency == 4);
  CHECK(
      read<protocol::Ready>(R"({"type":"ready","concurrency":99999999999})").concurrency == 10'000
  );
  CHECK(
      broken(R"({"type":"ready","protocol":2,"concurrency":3})") ==
      R"(broke the protocol: cannot work with protocol "2" and concurrency "3")"
  );
  CHECK(
      broken(R"({"type":"ready","concurrency":0})").find("concurrency \"0\"") != std::string::npos
  );
  CHECK(broken(R"({"type":"ready","concurrency":"many"})").find("\"many\"") != std::string::npos);
}

TEST_CASE("an output is passed on as it was written", "[line protocol]") {
  const auto output =
      read<protocol::Output>(R"({"type":"result","id":"7","output":{"n":12345678901234567890.50}})"
      );
  CHECK(output.id == "7");
  CHECK(output.json == R"({"n":12345678901234567890.50})");
  CHECK(read<protocol::Output>(R"({"type":"result","id":7})").json == "null");
  CHECK(read<protocol::Output>(R"({"type":"result","id":7})").id == "7");
}

TEST_CASE("an answer that jsonb cannot hold is that task's failure", "[line protocol]") {
  const auto failure =
      read<protocol::Failure>("{\"type\":\"result\",\"id\":\"7\",\"output\":\"a\\u0000b\"}");
  CHECK(failure.id == "7");
  CHECK(failure.retryable);
  CHECK(failure.message.find("its answer cannot be stored: ") == 0);
}

TEST_CASE("what is said of other tasks, or of none, is told apart", "[line protocol]") {
  CHECK(read<protocol::Heartbeat>(R"({"type":"heartbeat","id":"7"})").id == "7");
  const auto line = read<protocol::LogLine>(
      R"({"type":"log","level":"warn","message":"m","fields":{"a":1,"b":"c"}})"
  );
  CHECK(line.id.empty());
  CHECK(line.level == Logger::Level::warn);
  using Fields = std::vector<std::pair<std::string, std::string>>;
  CHECK(line.fields == Fields{{"a", "1"}, {"b", "c"}});
  CHECK(read<protocol::Other>(R"({"type":"of a later protocol","id":"7"})").id == "7");
  read<protocol::Other>(" \r");
}

TEST_CASE("a line that is no JSON object breaks the protocol", "[line protocol]") {
  CHECK(
      broken("debug").find(R"(broke the protocol: a line of stdout is no JSON object: "debug" ()"
      ) == 0
  );
  CHECK(broken("[1]") == R"(broke the protocol: a line of stdout is no JSON object: "[1]")");
}

TEST_CASE("what is sent stands on one line", "[line protocol]") {
  CHECK(protocol::hello_line() == "{\"type\":\"hello\",\"protocol\":1}\n");
  CHECK(
      protocol::cancel_line("7", "timeout") ==
      "{\"type\":\"cancel\",\"id\":\"7\",\"reason\":\"timeout\"}\n"
  );
  TaskInfo task;
  task.flow_slug = "flowOne";
  task.step_slug = "stepOne";
  task.run_id = "r";
  task.msg_id = 9007199254740993;
  detail::Call call;
  call.task = &task;
  call.input = "{\n\"a\":\r\n 1}";
  call.deadline = std::chrono::steady_clock::time_point::max();
  const std::string line = protocol::task_line("7", protocol::task_members(call, "[\n]"));
  CHECK(line.find(R"({"type":"task","id":"7","flowSlug":"flowOne",)") == 0);
  CHECK(
      line.find(R"("msgId":"9007199254740993","input":{ "a":   1},"flowInput":[ ]})") !=
      std::string::npos
  );
  CHECK(line.find('\n') == line.size() - 1);
}
