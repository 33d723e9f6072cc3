// Stands between a client and PostgreSQL and loses what it is told to lose.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "support/database.hpp"
#include "support/process.hpp"

namespace pgflow::test {

enum class Fault {
  cut_request,  // the server never sees it; both ends are closed
  drop_reply,   // the server has answered, its answer is lost, both ends are closed
  freeze,       // nothing goes through any more, and nobody is told
};

class FaultyProxy {
 public:
  explicit FaultyProxy(const Server& upstream);
  ~FaultyProxy();
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;

  // The way to `database` through the proxy.
  std::string url(const Database& database) const;

  // Every request that contains `text` meets the fault when it is seen first; asked again, byte for
  // byte, it goes through. What only prepares a statement is none.
  void arm(Fault fault, std::string text);
  void disarm();
  int faults() const { return faults_.load(); }  // met so far

 private:
  struct Pair;
  void serve();
  std::optional<Fault> judge(const std::string& request);

  const Server upstream_;
  TemporaryFolder folder_;
  int listener_ = -1;
  std::atomic<bool> ends_{false};
  std::atomic<int> faults_{0};
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<Fault> fault_;
  std::string text_;
  std::set<std::string> seen_;
  std::thread thread_;  // last: serves until the destructor
};

}  // namespace pgflow::test
