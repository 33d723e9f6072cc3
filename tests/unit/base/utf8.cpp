#include "base/utf8.hpp"

#include "support/catch.hpp"

using namespace pgflow;
using namespace std::string_literals;

// The table of well-formed byte sequences: Unicode standard, 3.9, D92.
TEST_CASE("a well-formed character is as long as the standard says", "[utf8]") {
  CHECK(utf8_length("a") == 1);
  CHECK(utf8_length("\0"s) == 1);
  CHECK(utf8_length("\xC2\x80") == 2);
  CHECK(utf8_length("\xE0\xA0\x80") == 3);
  CHECK(utf8_length("\xED\x9F\xBF") == 3);
  CHECK(utf8_length("\xF0\x90\x80\x80") == 4);
  CHECK(utf8_length("\xF4\x8F\xBF\xBF") == 4);
}

TEST_CASE("what no character starts with has no length", "[utf8]") {
  const auto bytes = GENERATE(
      "\x80"s,              // a further byte alone
      "\xC1\xBF"s,          // overlong
      "\xE0\x9F\xBF"s,      // overlong
      "\xED\xA0\x80"s,      // a surrogate
      "\xF0\x8F\xBF\xBF"s,  // overlong
      "\xF4\x90\x80\x80"s,  // above U+10FFFF
      "\xF5\x80\x80\x80"s,
      "\xE2\x82"s  // cut off
  );
  CHECK(utf8_length(bytes) == 0);
}

TEST_CASE("each byte that is no part of a character becomes U+FFFD", "[utf8]") {
  CHECK(
      valid_utf8("a\xFF"
                 "b\xE2\x82") == "a\uFFFDb\uFFFD\uFFFD"
  );
  CHECK(valid_utf8("ä€😀") == "ä€😀");
}
