// What uv/ promises: callbacks come on the loop, exceptions leave through run(), nothing leaks.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "support/catch.hpp"
#include "uv/background.hpp"
#include "uv/mailbox.hpp"
#include "uv/poll.hpp"
#include "uv/signal.hpp"
#include "uv/timer.hpp"

using namespace std::chrono_literals;
namespace uv = pgflow::uv;

TEST_CASE("a timer fires once, and the loop ends when nothing is left", "[uv][timer]") {
  uv::Loop loop;
  int fired = 0;
  uv::Timer timer(loop, [&] { ++fired; });
  timer.start(1ms);
  CHECK(timer.is_running());
  loop.run();
  CHECK(fired == 1);
  CHECK_FALSE(timer.is_running());
}

TEST_CASE("a repeating timer fires until it is stopped", "[uv][timer]") {
  uv::Loop loop;
  int fired = 0;
  std::unique_ptr<uv::Timer> timer;
  timer = std::make_unique<uv::Timer>(loop, [&] {
    if (++fired == 3) timer->stop();
  });
  timer->start(0ms, 1ms);
  loop.run();
  CHECK(fired == 3);
}

TEST_CASE("a timer may destroy itself in its own callback", "[uv][timer]") {
  uv::Loop loop;
  std::unique_ptr<uv::Timer> timer;
  bool after = false;
  timer = std::make_unique<uv::Timer>(loop, [&] {
    timer.reset();
    after = true;
  });
  timer->start(0ms);
  loop.run();
  CHECK(after);
}

TEST_CASE("one round ends with the first callback, also when that is a timer's", "[uv][loop]") {
  uv::Loop loop;
  bool fired = false;
  uv::Timer due(loop, [&] { fired = true; });
  uv::Timer far(loop, [] {});
  due.start(0ms);
  far.start(1h);
  loop.run_once();
  CHECK(fired);
}

TEST_CASE(
    "what a callback throws comes out of run, and the loop goes on afterwards", "[uv][loop]"
) {
  uv::Loop loop;
  uv::Timer bad(loop, [] { throw std::runtime_error("from the callback"); });
  bool fired = false;
  uv::Timer good(loop, [&] { fired = true; });
  bad.start(0ms);
  good.start(1ms);
  CHECK_THROWS_WITH(loop.run(), "from the callback");
  loop.run();
  CHECK(fired);
}

TEST_CASE("a handle that is destroyed with work to do closes cleanly with its loop", "[uv][loop]") {
  uv::Loop loop;
  {
    uv::Timer timer(loop, [] {});
    timer.start(1h);
    const uv::Signal signal(loop, SIGUSR1, [](int) {});
    loop.stop();
  }
  SUCCEED("the loop's destructor aborts on a leak");
}

TEST_CASE("a signal is an event", "[uv][signal]") {
  uv::Loop loop;
  int seen = 0;
  const uv::Signal signal(loop, SIGUSR1, [&](int number) {
    seen = number;
    loop.stop();
  });
  uv::Timer deadline(loop, [&] { loop.stop(); });
  deadline.start(10s);
  ::kill(::getpid(), SIGUSR1);
  loop.run();
  CHECK(seen == SIGUSR1);
}

TEST_CASE("a pipe is readable when somebody wrote, and again when the writer left", "[uv][poll]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const pgflow::UniqueFd read_end(ends[0]);
  pgflow::UniqueFd write_end(ends[1]);
  uv::Loop loop;
  std::vector<ssize_t> reads;
  std::unique_ptr<uv::Poll> poll;
  poll = std::make_unique<uv::Poll>(loop, read_end.get(), [&](uv::Ready ready) {
    REQUIRE(ready.readable);
    char byte;
    reads.push_back(::read(read_end.get(), &byte, 1));
    if (reads.back() == 1) {
      write_end.reset();
    } else {
      poll->stop();
    }
  });
  poll->watch(true, false);
  REQUIRE(::write(write_end.get(), "x", 1) == 1);
  loop.run();
  CHECK(reads == std::vector<ssize_t>{1, 0});
}

TEST_CASE(
    "a mailbox delivers every message of every thread, in each thread's order", "[uv][mailbox]"
) {
  constexpr int kThreads = 4, kMessages = 1000;
  uv::Loop loop;
  std::vector<std::vector<int>> got(kThreads);
  int count = 0;
  using Message = std::pair<int, std::unique_ptr<int>>;
  uv::Mailbox<Message> mailbox(loop, [&](std::vector<Message> mail) {
    for (auto& [thread, number] : mail) got[static_cast<std::size_t>(thread)].push_back(*number);
    count += static_cast<int>(mail.size());
    if (count == kThreads * kMessages) loop.stop();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&mailbox, t] {
      for (int i = 0; i < kMessages; ++i) mailbox.post({t, std::make_unique<int>(i)});
    });
  }
  loop.run();
  for (auto& thread : threads) thread.join();
  for (const auto& numbers : got) {
    REQUIRE(numbers.size() == kMessages);
    for (int i = 0; i < kMessages; ++i) CHECK(numbers[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("a closed mailbox refuses messages, also while threads keep posting", "[uv][mailbox]") {
  uv::Loop loop;
  uv::Mailbox<int> mailbox(loop, [](std::vector<int>) {});
  std::thread poster([&] {
    while (mailbox.post(1)) {
    }
  });
  for (int i = 0; i < 10; ++i) loop.run_once();
  mailbox.close();
  poster.join();
  CHECK_FALSE(mailbox.post(1));
}

TEST_CASE("a background job runs on another thread and answers on the loop", "[uv][background]") {
  uv::Loop loop;
  std::thread::id job_thread, done_thread;
  uv::Background::run(
      loop,
      [&] { job_thread = std::this_thread::get_id(); },
      [&] { done_thread = std::this_thread::get_id(); }
  );
  loop.run();
  CHECK(job_thread != std::thread::id());
  CHECK(job_thread != std::this_thread::get_id());
  CHECK(done_thread == std::this_thread::get_id());
}

TEST_CASE("a loop's end waits for its background jobs", "[uv][background]") {
  bool done = false;
  {
    uv::Loop loop;
    uv::Background::run(loop, [] {}, [&] { done = true; });
  }
  CHECK(done);
}
