// The flow helloV1: a handler's signature says what its step needs, and what it gives.
#pragma once

#include <pgflow/flow.hpp>
#include <pgflow/step_queues.hpp>

struct Person {
  std::string name;
};
struct Greeting {
  std::string text;
};

inline Greeting greet(const Person& person) {
  return {"Hello " + person.name};
}

inline std::string shout(const Greeting& greeting) {
  return greeting.text + "!";
}

inline auto my_flow() {
  using namespace pgflow;
  return with_step_queues(flow<"helloV1", Person>()
                              .step<"greet">({.max_attempts = 5}, greet)
                              .step<"shout">(depends_on<"greet">, shout));
}
