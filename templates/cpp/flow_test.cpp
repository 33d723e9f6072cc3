// Runs the whole flow in this process, without a database.
#include <cstdio>
#include <pgflow/testing.hpp>

#include "flow.hpp"

int main() {
  const auto run = pgflow::testing::run(my_flow(), Person{"Ada"});
  if (run.completed() && run.output<"shout">() == "Hello Ada!") return 0;
  std::fputs("Ada is not greeted\n", stderr);
  return 1;
}
