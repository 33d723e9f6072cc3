// A fact that holds for every input; the fuzzer stops where it does not.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace pgflow::test {

inline void hold(bool fact, std::string_view sentence) {
  if (fact) return;
  std::fprintf(stderr, "not so: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::abort();
}

}  // namespace pgflow::test
