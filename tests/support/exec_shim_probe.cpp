// The smallest program with the verb `__exec`: what tests start children through.
#include "base/exec_shim.hpp"

int main(int argc, char** argv) {
  return pgflow::exec_shim_main(argc, argv);
}
