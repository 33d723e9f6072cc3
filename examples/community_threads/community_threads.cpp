// The flow communityThreadsV1: sort a support thread, and bring the ones that ask for help to
// Slack.
#include <cstdlib>
#include <pgflow/main.hpp>

#include "classifier.hpp"
#include "slack.hpp"

using namespace pgflow;
using namespace std::chrono_literals;

struct Message {
  std::string thread_id, author, text;
};
struct Classified {
  Route route;
  double confidence;
};
struct Delivered {
  std::string slack_ts;
};

Classified classify(const Message& message, const Classifier& classifier, std::stop_token stop) {
  const auto [route, confidence] = classifier.ask(message.text, stop);
  return {route, confidence};
}

Delivered deliver_slack(const Classified& sorted, FlowInput<Message> message, const Slack& slack) {
  const int percent = static_cast<int>(sorted.confidence * 100);
  return {slack.post(
      message->thread_id,
      message->author + " asks (" + std::to_string(percent) + " % sure): " + message->text
  )};
}

int main(int argc, char** argv) {
  const Classifier classifier;
  const char* url = std::getenv("SLACK_WEBHOOK_URL");
  const Slack slack(url != nullptr ? url : "http://127.0.0.1:9/");
  const auto community_threads = [] {
    return with_step_queues(
        flow<"communityThreadsV1", Message>({.max_attempts = 6, .base_delay = 1s, .timeout = 30s})
            .step<"classify">(classify)
            .step<"deliverSlack">(
                depends_on<"classify">,
                run_if(output<"classify">(&Classified::route) == Route::help),
                deliver_slack
            )
    );
  };
  return pgflow::main(argc, argv, community_threads, resource(classifier), resource(slack));
}
