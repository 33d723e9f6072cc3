#include <pgflow/testing.hpp>

#include "hello.hpp"

int main() {
  const auto run = pgflow::testing::run(hello(), Person{"Ada"});
  return run.completed() && run.output<"greet">() == "Hello, Ada!" ? 0 : 1;
}
