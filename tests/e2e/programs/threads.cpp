// The worker program of the end-to-end tests: communityThreadsV1 whose handlers note in a ledger
// what they do, and wait for a file when their message says so.
//
//   E2E_FOLDER/ledger      one line at each handler's start and end: "start|end STEP KEY ATTEMPT
//   PID" E2E_FOLDER/open.NAME   its existence lets handlers go on that wait at the gate NAME
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <pgflow/main.hpp>
#include <string>
#include <thread>

using namespace pgflow;

enum class Route { help, other };
struct Message {
  std::string key;
  Route route;
  std::optional<std::string> classify_gate, deliver_gate;
};
struct Classified {
  Route route;
};
struct Delivered {
  std::string key;
};

std::string folder() {
  return std::getenv("E2E_FOLDER");
}

void note(const std::string& event, const std::string& key, const Context& context) {
  const std::string line = event + " " + context.task().step_slug + " " + key + " " +
                           std::to_string(context.attempt()) + " " + std::to_string(getpid()) +
                           "\n";
  const int fd = open((folder() + "/ledger").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("cannot write the ledger");
  }
  close(fd);
}

void pass(const std::optional<std::string>& gate, const Context& context) {
  while (gate && !std::filesystem::exists(folder() + "/open." + *gate)) {
    context.throw_if_stopped();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Classified classify(const Message& message, Context& context) {
  note("start", message.key, context);
  pass(message.classify_gate, context);
  note("end", message.key, context);
  return {message.route};
}

Delivered deliver_slack(const Classified&, FlowInput<Message> message, Context& context) {
  note("start", message->key, context);
  pass(message->deliver_gate, context);
  note("end", message->key, context);
  return {message->key};
}

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, [] {
    return with_step_queues(flow<"communityThreadsV1", Message>(
                                {.max_attempts = 3, .timeout = std::chrono::seconds(120)}
    )
                                .step<"classify">(classify)
                                .step<"deliverSlack">(
                                    depends_on<"classify">,
                                    run_if(output<"classify">(&Classified::route) == Route::help),
                                    deliver_slack
                                ));
  });
}
