#include <pgflow/main.hpp>

#include "hello.hpp"

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, [] { return pgflow::with_step_queues(hello()); });
}
