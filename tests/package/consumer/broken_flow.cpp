#include <pgflow/main.hpp>

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, [] {
    return pgflow::flow<"brokenV1", int>({.max_attempts = 0});
  });
}
