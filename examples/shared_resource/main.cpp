// The flow basketV1: up to eight tasks at once look up prices, over the two connections that their
// process has.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pgflow/main.hpp>
#include <set>
#include <thread>

using namespace pgflow;
using namespace std::chrono_literals;

// Stands for a connection to a price server; like most of them it serves one thread at a time.
class Connection {
 public:
  long price(const std::string& item) {
    if (busy_.exchange(true)) {
      throw std::logic_error("two threads use one connection");
    }
    std::this_thread::sleep_for(20ms);  // the server's answer
    busy_ = false;
    return 100 * static_cast<long>(item.size());
  }

 private:
  std::atomic<bool> busy_ = false;
};

class Pool {
 public:
  explicit Pool(std::size_t size) : connections_(size) {
    for (std::size_t i = 0; i < size; ++i) {
      free_.push_back(i);
    }
  }

  // A connection in one thread's hands, given back at the end of the scope.
  class Lease {
   public:
    Lease(Pool& pool, std::size_t number) : pool_(pool), number_(number) {}
    ~Lease() { pool_.give_back(number_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    std::size_t number() const { return number_; }
    Connection* operator->() const { return &pool_.connections_[number_]; }

   private:
    Pool& pool_;
    std::size_t number_;
  };

  // Waits for a free connection, but no longer than the task may run.
  Lease lease(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (!returned_.wait(lock, stop, [this] { return !free_.empty(); })) {
      throw Aborted();
    }
    const std::size_t number = free_.front();
    free_.pop_front();
    return {*this, number};
  }

 private:
  void give_back(std::size_t number) {
    {
      const std::scoped_lock lock(mutex_);
      free_.push_back(number);
    }
    returned_.notify_one();
  }

  std::vector<Connection> connections_;
  std::mutex mutex_;
  std::condition_variable_any returned_;
  std::deque<std::size_t> free_;  // under mutex_; the longest unused first
};

struct Quote {
  long cents = 0;
  std::size_t connection = 0;
};
struct Total {
  long cents = 0;
  std::size_t connections = 0;  // that were used
};

Quote quote(const std::string& item, Pool& pool, std::stop_token stop) {
  const auto connection = pool.lease(stop);
  return {connection->price(item), connection.number()};
}

Total total(const std::vector<Quote>& quotes) {
  Total sum;
  std::set<std::size_t> used;
  for (const Quote& one : quotes) {
    sum.cents += one.cents;
    used.insert(one.connection);
  }
  sum.connections = used.size();
  return sum;
}

int main(int argc, char** argv) {
  Pool pool(2);
  return pgflow::main(
      argc,
      argv,
      [] {
        return with_step_queues(flow<"basketV1", std::vector<std::string>>()
                                    .map<"quote">({.max_attempts = 1}, quote)
                                    .step<"total">(depends_on<"quote">, total));
      },
      resource(pool)
  );
}
