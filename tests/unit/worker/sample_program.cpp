// The program that program.cpp tests run: two flows, one of them with step queues; `BREAK` in the
// environment makes the definition unusable.
#include <cstdlib>
#include <pgflow/main.hpp>
#include <stdexcept>

using namespace pgflow;

struct Message {
  std::string text;
};
struct Classified {
  bool question;
};
struct Slack {
  std::string channel;
};

Classified classify(const Message& message, Context& ctx) {
  ctx.log().info("classifying", kv("length", message.text.size()));
  if (message.text == "boom") {
    throw std::runtime_error("cannot classify that");
  }
  return {message.text.find('?') != std::string::npos};
}

std::string deliver(const Classified& in, FlowInput<Message> message, const Slack& slack) {
  return slack.channel + (in.question ? "?" : "!") + message->text;
}

int main(int argc, char** argv) {
  const Slack slack{"#help"};
  const auto make = [] {
    const std::string suffix = std::getenv("BREAK") ? std::string(50, 'x') : "";
    return flows(
        with_step_queues(flow<Message>("threadsV1" + suffix)
                             .step<"classify">(classify)
                             .step<"deliverSlack">(depends_on<"classify">, deliver)),
        flow<"plain", int>().step<"twice">([](int n) { return 2 * n; })
    );
  };
  return pgflow::main(argc, argv, make, resource(slack));
}
