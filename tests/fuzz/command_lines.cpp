// worker/: any line of a command is a message or breaks the protocol; what it says can be stored
// and sent.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fact.hpp"
#include "json/outline.hpp"
#include "worker/line_protocol.hpp"

using namespace pgflow;
namespace protocol = worker::protocol;

namespace {

void names_its_task(const std::string& line, const std::string& id) {
  test::hold(line.find('\n') == line.size() - 1, "a message is one line");
  const auto read = protocol::read_line(std::string_view(line).substr(0, line.size() - 1));
  test::hold(read.has_value(), "what is sent is a JSON object");
  const auto* other = std::get_if<protocol::Other>(&*read);
  test::hold(other != nullptr && other->id == id, "it names the task as the command did");
}

void of_task(const std::string& id) {
  names_its_task(protocol::cancel_line(id, "timeout"), id);
  names_its_task(protocol::task_line(id, R"("input":null)"), id);
}

struct Facts {
  void operator()(const protocol::Ready& ready) const {
    test::hold(ready.concurrency >= 1 && ready.concurrency <= 10'000, "concurrency has its range");
  }
  void operator()(const protocol::Output& output) const {
    const auto outline = json::outline(output.json);
    test::hold(outline && outline->unstorable.empty(), "an output can be stored");
    of_task(output.id);
  }
  void operator()(const protocol::Failure& failure) const {
    test::hold(!failure.message.empty(), "a failure says why");
    of_task(failure.id);
  }
  void operator()(const protocol::LogLine& line) const { of_task(line.id); }
  void operator()(const protocol::Heartbeat& heartbeat) const { of_task(heartbeat.id); }
  void operator()(const protocol::Other& other) const { of_task(other.id); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message =
      protocol::read_line(std::string_view(reinterpret_cast<const char*>(data), size));
  if (message) {
    std::visit(Facts{}, *message);
  } else {
    test::hold(!message.error().message.empty(), "the end of a command says why");
  }
  return 0;
}
