// The code that a page of docs/ shows is code that is compiled.
#pragma once

#include <string>

#include "support/catch.hpp"
#include "support/process.hpp"

namespace pgflow::test {

// Every ```cpp block of the page stands word for word in the file of tests/docs; there are so many.
inline void check_code_of(const std::string& page_name, const std::string& file, int expected) {
  const std::string page = read_file(PGFLOW_SOURCE_DIR "/docs/" + page_name);
  const std::string code = read_file(PGFLOW_SOURCE_DIR "/tests/docs/" + file);
  const std::string begin = "```cpp\n";
  int blocks = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos; ++blocks) {
    at += begin.size();
    const std::string block = page.substr(at, page.find("```\n", at) - at);
    INFO(block);
    CHECK(code.find(block) != std::string::npos);
  }
  CHECK(blocks == expected);
}

}  // namespace pgflow::test
