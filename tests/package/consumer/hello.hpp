// The flow of this project.
#pragma once

#include <pgflow/flow.hpp>

struct Person {
  std::string name;
};

inline auto hello() {
  return pgflow::flow<"helloV1", Person>().step<"greet">([](const Person& person) {
    return "Hello, " + person.name + "!";
  });
}
