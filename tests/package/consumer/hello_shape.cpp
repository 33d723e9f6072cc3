#include <cstdio>

#include "hello.hpp"

int main() {
  std::puts(pgflow::flow_shape(*hello().definition()).c_str());
}
