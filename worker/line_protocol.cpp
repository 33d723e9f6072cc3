#include "worker/line_protocol.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"
#include "json/outline.hpp"
#include "json/writer.hpp"
#include "log/log.hpp"
#include "worker/command_output.hpp"

namespace pgflow::worker::protocol {
namespace {

constexpr int kProtocol = 1;
constexpr int kMostConcurrency = 10'000;

// Outside of strings a line end is white space, inside of them JSON has none.
std::string on_one_line(std::string_view json) {
  std::string line(json);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

// A member as text, as whole number; the fallback when it is nothing of the kind.
std::string text_in(const json::Outline& message, std::string_view key) {
  const auto value = json::parse(message.find(key));
  if (!value) return "";
  return value->type == json::Type::string ? value->text : json::text_of(*value);
}
int number_in(const json::Outline& message, std::string_view key, int fallback) {
  const std::string_view text = message.find(key);
  if (text.empty()) return fallback;
  const auto value = json::parse(text);
  const auto number = value ? value->as_int64() : std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>(number.value_or(-1), -1, kMostConcurrency));
}

Error broken(std::string how) {
  return {.kind = "command_protocol", .message = "broke the protocol: " + std::move(how)};
}

Result<Message> ready(const json::Outline& message) {
  const int concurrency = number_in(message, "concurrency", 1);
  if (number_in(message, "protocol", kProtocol) == kProtocol && concurrency >= 1) {
    return Ready{concurrency};
  }
  return fail(broken(
      "cannot work with protocol " + beginning(text_in(message, "protocol")) + " and concurrency " +
      beginning(text_in(message, "concurrency"))
  ));
}

Message answer(const json::Outline& message, std::string id, bool is_output) {
  if (!message.unstorable.empty()) {
    return Failure{std::move(id), "its answer cannot be stored: " + message.unstorable};
  }
  if (is_output) {
    const std::string_view output = message.find("output");
    return Output{std::move(id), output.empty() ? "null" : std::string(output)};
  }
  std::string why = text_in(message, "message");
  if (why.empty()) why = "the command gave no reason";
  return Failure{std::move(id), std::move(why), message.find("retryable") != "false"};
}

Message note(const json::Outline& message, std::string id) {
  LogLine line{
      .id = std::move(id),
      .level = Logger::Level::info,
      .message = text_in(message, "message"),
      .fields = {}
  };
  if (const auto level = log::parse_level(text_in(message, "level"))) {
    line.level = static_cast<Logger::Level>(*level);
  }
  if (const auto fields = json::parse(message.find("fields"))) {
    for (const auto& field : fields->members) {
      const bool is_text = field.value.type == json::Type::string;
      line.fields.emplace_back(field.name, is_text ? field.value.text : json::text_of(field.value));
    }
  }
  return line;
}

std::string line_of(json::Writer& out) {
  return out.end_object().take() + "\n";
}

}  // namespace

std::string hello_line() {
  json::Writer out;
  out.begin_object().key("type").string("hello").key("protocol").integer(kProtocol);
  return line_of(out);
}

std::string task_members(const detail::Call& call, std::string_view flow_input) {
  const TaskInfo& task = *call.task;
  json::Writer out;
  out.begin_object();
  out.key("flowSlug").string(task.flow_slug);
  out.key("runId").string(task.run_id);
  out.key("stepSlug").string(task.step_slug);
  out.key("taskIndex").integer(task.task_index);
  out.key("attempt").integer(task.attempt);
  out.key("maxAttempts").integer(task.max_attempts);
  // As text: JavaScript's numbers end at 2^53.
  out.key("msgId").string(std::to_string(task.msg_id));
  if (call.deadline != SteadyClock::time_point::max()) {
    const auto left =
        std::chrono::floor<std::chrono::milliseconds>(call.deadline - SteadyClock::now());
    out.key("timeoutMs").integer(std::max<std::int64_t>(0, left.count()));
  }
  out.key("input").raw(on_one_line(call.input));
  if (!flow_input.empty()) out.key("flowInput").raw(on_one_line(flow_input));
  std::string object = out.end_object().take();
  return object.substr(1, object.size() - 2);
}

std::string task_line(std::string_view id, std::string_view members) {
  return R"({"type":"task","id":)" + json::quoted(id) + "," + std::string(members) + "}\n";
}

std::string cancel_line(std::string_view id, std::string_view reason) {
  json::Writer out;
  out.begin_object().key("type").string("cancel").key("id").string(id).key("reason").string(reason);
  return line_of(out);
}

Result<Message> read_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return Other{};
  const auto message = json::outline(line);
  if (!message || message->type != json::Type::object) {
    return fail(broken(
        "a line of stdout is no JSON object: " + beginning(line) +
        (message ? "" : " (" + message.error().message + ")")
    ));
  }
  const std::string type = text_in(*message, "type");
  if (type == "ready") return ready(*message);
  std::string id = text_in(*message, "id");
  if (type == "result" || type == "error") return answer(*message, std::move(id), type == "result");
  if (type == "log") return note(*message, std::move(id));
  if (type == "heartbeat") return Heartbeat{std::move(id)};
  return Other{std::move(id)};
}

}  // namespace pgflow::worker::protocol
