// A worker program whose handlers do what their input says and write down what they did.
//
// PROBE_LEDGER names the file they append to: "start <attempt> <tag>", "end <attempt> <tag>",
// "stopped <attempt> <tag>", "cancelled <attempt> <tag>". PROBE_SHAPE=other gives the flow a second
// step more than usual, PROBE_TIMEOUT the step `work` another timeout than 3 s, PROBE_SHAPE=plain
// no step queues, PROBE_SHAPE=patient polls once an hour, so that whatever it claims later was
// heard of.
#include <pgflow/main.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

using namespace pgflow;

namespace {

enum class Act {
  finish,
  fail,
  fail_once,  // the first attempt only
  give_up,    // PermanentFailure
  wait,       // until `file` exists; heeds a stop
  ignore,     // the same, deaf to stops
};

struct Order {
  Act act;
  std::string tag;
  std::string file;
};

struct Done {
  std::string tag;
  int attempt;
};

void note(const std::string& what, const Context& context, const std::string& tag) {
  // One write of one line: lines of several processes never mix.
  const std::string line = what + " " + std::to_string(context.attempt()) + " " + tag + "\n";
  const int fd = open(std::getenv("PROBE_LEDGER"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line.data(), line.size()) < 0) std::abort();
  close(fd);
}

void wait_for(const Order& order, Context& context) {
  while (access(order.file.c_str(), F_OK) != 0) {
    if (order.act == Act::wait && context.stop_token().stop_requested()) {
      const bool cancelled = context.stop_reason() == StopReason::cancelled;
      note(cancelled ? "cancelled" : "stopped", context, order.tag);
      throw Aborted();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Done work(const Order& order, Context& context) {
  note("start", context, order.tag);
  switch (order.act) {
    case Act::finish:
      break;
    case Act::fail:
      throw std::runtime_error("told to fail");
    case Act::fail_once:
      if (context.attempt() == 1) throw std::runtime_error("told to fail once");
      break;
    case Act::give_up:
      throw PermanentFailure("told to give up");
    case Act::wait:
    case Act::ignore:
      wait_for(order, context);
  }
  note("end", context, order.tag);
  return {order.tag, context.attempt()};
}

std::string report(const Done& done, Context& context) {
  note("report", context, done.tag);
  return "done " + done.tag;
}

std::chrono::seconds timeout() {
  const char* seconds = std::getenv("PROBE_TIMEOUT");
  return std::chrono::seconds(seconds ? std::atoi(seconds) : 3);
}

auto probe() {
  return flow<"probeV1", Order>()
      .step<"work">(
          {.max_attempts = 2, .base_delay = std::chrono::seconds(1), .timeout = timeout()}, work
      )
      .step<"report">(depends_on<"work">, report);
}

}  // namespace

int main(int argc, char** argv) {
  const char* shape = std::getenv("PROBE_SHAPE");
  if (shape && std::string_view(shape) == "other") {
    return pgflow::main(
        argc,
        argv,
        with_step_queues(
            probe().step<"extra">(depends_on<"report">, [](const std::string& s) { return s; })
        )
    );
  }
  if (shape && std::string_view(shape) == "patient") {
    return EdgeWorker::start(
        with_step_queues(probe()),
        step<"work">,
        {.max_poll = std::chrono::hours(1), .poll_interval = std::chrono::hours(1)}
    );
  }
  if (shape && std::string_view(shape) == "plain") return pgflow::main(argc, argv, probe());
  return pgflow::main(argc, argv, with_step_queues(probe()));
}
