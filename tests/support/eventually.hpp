// Waiting for a fact with a deadline, instead of sleeping.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "support/catch.hpp"

namespace pgflow::test {

using namespace std::chrono_literals;

// Asks until the fact holds; the test fails with the sentence when the time is over.
template <class Fact>
void eventually(const std::string& sentence, std::chrono::milliseconds limit, Fact&& fact) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!fact()) {
    if (std::chrono::steady_clock::now() > deadline)
      FAIL("not within " << limit.count() << " ms: " << sentence);
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace pgflow::test
