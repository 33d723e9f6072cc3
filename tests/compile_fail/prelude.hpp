// What every case starts from.
#pragma once

#include <pgflow/main.hpp>
#include <pgflow/testing.hpp>
#include <string>
#include <vector>

using namespace pgflow;

enum class Route { help, bug };
struct Inner {
  std::string role;
};
struct Message {
  std::string text;
  Inner user;
  std::vector<std::string> tags;
};
struct Classified {
  Route route;
  double confidence;
};
struct Delivered {
  std::string ts;
};
struct Slack {};
struct Redis {};
struct NotJson {
  int ok;
  struct Deep {
    std::vector<void*> pointers;
  } deep;
};

inline Classified classify(const Message&) {
  return {};
}
inline Delivered deliver(const Classified&) {
  return {};
}

// A flow with the step classify.
inline auto base() {
  return flow<"communityThreadsV1", Message>().step<"classify">(classify);
}
