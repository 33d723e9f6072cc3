// The worker program of helloV1, started by pgflow for each step.
#include <pgflow/main.hpp>

#include "flow.hpp"

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, my_flow);
}
