// json_contains is PostgreSQL's jsonb @>.
#include <pgflow/json.hpp>

#include "support/catch.hpp"

using pgflow::json_contains;

TEST_CASE("an object contains the members of its pattern, at any depth", "[json]") {
  CHECK(json_contains(R"({"a":{"b":1,"c":2},"d":3})", R"({"a":{"b":1}})"));
  CHECK_FALSE(json_contains(R"({"a":{"b":1}})", R"({"a":{"b":2}})"));
  CHECK_FALSE(json_contains(R"({"a":{"b":1}})", R"({"b":1})"));
  CHECK(json_contains(R"({"a":1})", "{}"));
}

TEST_CASE("an array contains each element of its pattern somewhere", "[json]") {
  CHECK(json_contains("[1,2,3]", "[3,1,1]"));
  CHECK(json_contains(R"({"a":[{"b":1,"c":2},3]})", R"({"a":[{"b":1.0}]})"));
  CHECK(json_contains(R"([[1,2],[3]])", "[[3]]"));
  CHECK_FALSE(json_contains("[[1,2]]", "[1]"));
  CHECK(json_contains("[1]", "[]"));
}

TEST_CASE("a scalar at the top is found in an array, deeper it is not", "[json]") {
  CHECK(json_contains(R"(["a"])", R"("a")"));
  CHECK_FALSE(json_contains(R"({"x":["a"]})", R"({"x":"a"})"));
  CHECK_FALSE(json_contains(R"("a")", R"(["a"])"));
}

TEST_CASE("an empty object matches objects only", "[json]") {
  for (const char* other : {"[]", "1", "\"x\"", "null", "true"}) {
    CAPTURE(other);
    CHECK_FALSE(json_contains(other, "{}"));
  }
}

TEST_CASE("numbers are compared exactly, not by their text", "[json]") {
  CHECK(json_contains("100", "1e2"));
  CHECK(json_contains("1.50", "15e-1"));
  CHECK(json_contains("-0", "0"));
  CHECK(json_contains("0.000", "0"));
  CHECK_FALSE(json_contains("9007199254740993", "9007199254740992"));
  CHECK_FALSE(json_contains("-1", "1"));
}

TEST_CASE("the last of two equal keys counts, on both sides", "[json]") {
  CHECK(json_contains(R"({"a":1,"a":2})", R"({"a":1,"a":2})"));
  CHECK_FALSE(json_contains(R"({"a":1,"a":2})", R"({"a":1})"));
}
