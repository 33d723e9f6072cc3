// The flow that chaos is made of: two steps whose handlers take their time and write down when they
// began and ended, in the file CHAOS_LEDGER, one line each:
// "<nanoseconds, monotonic> start|end <step> <run> <attempt> <pid>".
#include <pgflow/main.hpp>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

using namespace pgflow;

namespace {

// A negative time is one of computing.
struct Job {
  int first_ms;
  int second_ms;
};

void note(const char* what, const Context& context) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string line = std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec) + " " + what +
                           " " + context.task().step_slug + " " + context.run_id() + " " +
                           std::to_string(context.attempt()) + " " + std::to_string(getpid()) +
                           "\n";
  const int fd = open(std::getenv("CHAOS_LEDGER"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line.data(), line.size()) < 0) std::abort();
  close(fd);
}

Job take_time(const Job& job, int milliseconds, const Context& context) {
  note("start", context);
  if (milliseconds < 0) {
    const auto end = std::chrono::steady_clock::now() - std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) continue;
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
  note("end", context);
  return job;
}

Job classify(const Job& job, Context& context) {
  return take_time(job, job.first_ms, context);
}

Job deliver(const Job& job, Context& context) {
  return take_time(job, job.second_ms, context);
}

}  // namespace

int main(int argc, char** argv) {
  return pgflow::main(
      argc,
      argv,
      with_step_queues(flow<"chaosV1", Job>().step<"classify">(classify).step<"deliver">(
          depends_on<"classify">, deliver
      ))
  );
}
