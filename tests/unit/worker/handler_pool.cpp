// worker/handler_pool: threads for handlers, and what they own.
#include "worker/handler_pool.hpp"

#include <atomic>
#include <latch>
#include <set>

#include "support/catch.hpp"

using namespace pgflow;
using worker::HandlerPool;
using worker::LazyResources;

TEST_CASE("no job waits for another, even above the pool's size", "[worker][handler_pool]") {
  std::latch together(5);
  HandlerPool pool({}, 1);
  // Each job ends only when all five run at once.
  for (int i = 0; i < 5; ++i) pool.submit([&](LazyResources&) { together.arrive_and_wait(); });
  together.wait();
}

TEST_CASE(
    "queued jobs run in their turn, no more at once than the size", "[worker][handler_pool]"
) {
  std::mutex mutex;
  std::vector<int> order;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  {
    HandlerPool pool({}, 3);
    for (int i = 0; i < 300; ++i) {
      pool.queue(static_cast<HandlerPool::Ticket>(i), [&, i](LazyResources& resources) {
        const int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        {
          const std::lock_guard lock(mutex);
          order.push_back(i);
          CHECK(resources.place() < 3);
        }
        --running;
      });
    }
  }
  CHECK(most <= 3);
  CHECK(std::set<int>(order.begin(), order.end()).size() == 300);
}

TEST_CASE(
    "as many queued jobs run at once as the size allows, also when it grows",
    "[worker][handler_pool]"
) {
  std::latch two(2);
  std::latch five(5);
  HandlerPool pool({}, 2);
  for (int i = 0; i < 2; ++i) {
    pool.queue(0, [&](LazyResources&) {
      two.arrive_and_wait();
      five.arrive_and_wait();
    });
  }
  for (int i = 0; i < 3; ++i) pool.queue(1, [&](LazyResources&) { five.arrive_and_wait(); });
  two.wait();
  CHECK(pool.busy() == 2);
  pool.resize(5);
  five.wait();
}

TEST_CASE("what has not begun can be taken back", "[worker][handler_pool]") {
  std::latch began(1);
  std::latch goes_on(1);
  std::atomic<int> ran = 0;
  {
    HandlerPool pool({}, 1);
    pool.queue(1, [&](LazyResources&) {
      began.count_down();
      goes_on.wait();
      ++ran;
    });
    began.wait();
    for (HandlerPool::Ticket ticket : {2U, 3U, 4U})
      pool.queue(ticket, [&](LazyResources&) { ++ran; });
    CHECK(pool.take_back() == std::vector<HandlerPool::Ticket>{2, 3, 4});
    CHECK(pool.take_back().empty());
    pool.queue(5, [&](LazyResources&) { ++ran; });
    goes_on.count_down();
  }
  CHECK(ran == 2);
}

TEST_CASE("a free thread takes the next job", "[worker][handler_pool]") {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  {
    HandlerPool pool({}, 4);
    for (int i = 0; i < 20; ++i) {
      pool.submit([&](LazyResources&) {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      });
      while (pool.busy() > 0) std::this_thread::yield();
    }
  }
  CHECK(seen.size() == 1);
}

TEST_CASE("the pool's end waits for every job", "[worker][handler_pool]") {
  std::atomic<int> done = 0;
  {
    HandlerPool pool({}, 2);
    for (int i = 0; i < 100; ++i) pool.submit([&](LazyResources&) { ++done; });
  }
  CHECK(done == 100);
}

namespace {
// Lent as each_thread<Made>: counts itself.
struct Made {
  explicit Made(std::atomic<int>& alive) : alive_(&alive) { ++*alive_; }
  Made(const Made& other) : alive_(other.alive_) { ++*alive_; }
  ~Made() { --*alive_; }
  std::atomic<int>* alive_;
};
}  // namespace

TEST_CASE("every thread has its own object, and shares the others", "[worker][handler_pool]") {
  int shared = 7;
  std::atomic<int> alive = 0;
  std::latch together(3);
  std::latch looked(3);
  std::mutex mutex;
  std::set<void*> own;
  std::set<void*> common;
  {
    HandlerPool pool(
        detail::lend(resource(shared), each_thread<Made>([&] { return Made(alive); })), 3
    );
    for (int i = 0; i < 3; ++i) {
      pool.submit([&](LazyResources& resources) {
        detail::Call call;
        call.resources = &resources.bound();
        {
          const std::lock_guard lock(mutex);
          own.insert(call.find(detail::resource_key<Made>()));
          common.insert(call.find(detail::resource_key<int>()));
        }
        together.arrive_and_wait();
        looked.count_down();
      });
    }
    looked.wait();
    CHECK(alive == 3);
  }
  CHECK(own.size() == 3);
  CHECK(common == std::set<void*>{&shared});
  CHECK(alive == 0);
}

TEST_CASE(
    "a factory that throws is asked again by the thread's next task", "[worker][handler_pool]"
) {
  int asked = 0;
  const detail::Resources lent = detail::lend(each_thread<int>([&]() -> int {
    if (++asked == 1) throw std::runtime_error("not yet");
    return 5;
  }));
  LazyResources resources(lent);
  CHECK_THROWS_WITH(resources.bound(), "not yet");
  CHECK(*static_cast<int*>(resources.bound().at(0).object) == 5);
  resources.bound();
  CHECK(asked == 2);
}

TEST_CASE("threads above a smaller size leave, with their objects", "[worker][handler_pool]") {
  std::atomic<int> alive = 0;
  std::latch together(4);
  HandlerPool pool(detail::lend(each_thread<Made>([&] { return Made(alive); })), 4);
  for (int i = 0; i < 4; ++i) {
    pool.submit([&](LazyResources& resources) {
      resources.bound();
      together.arrive_and_wait();
    });
  }
  while (pool.busy() > 0) std::this_thread::yield();
  CHECK(alive == 4);
  pool.resize(1);
  while (alive > 1) std::this_thread::yield();
  std::latch still(1);
  pool.submit([&](LazyResources&) { still.count_down(); });
  still.wait();
  CHECK(alive == 1);
}
