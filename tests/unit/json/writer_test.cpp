// json::Writer: what it writes.
#include "json/writer.hpp"

#include <limits>

#include "support/catch.hpp"

using namespace pgflow::json;

TEST_CASE("a writer nests values as told", "[json]") {
  Writer writer;
  writer.begin_object().key("a").integer(-5).key("b").begin_array();
  writer.null()
      .boolean(true)
      .string("x\"\n")
      .real(0.1)
      .raw(R"({"n":1.10})")
      .end_array()
      .end_object();
  CHECK(writer.take() == R"({"a":-5,"b":[null,true,"x\"\n",0.1,{"n":1.10}]})");
}

TEST_CASE("the indented style is for people", "[json]") {
  Writer writer(Writer::Style::indented);
  writer.begin_object().key("a").begin_array().integer(1).end_array().end_object();
  CHECK(writer.take() == "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST_CASE("a parsed tree is written back as it was", "[json]") {
  const std::string text =
      R"({"n":123456789012345678901234567890.125,"s":"é","l":[1,{"x":null}],"b":false,"e":{}})";
  const auto tree = parse(text);
  REQUIRE(tree.has_value());
  CHECK(Writer().value(*tree).take() == text);
}

TEST_CASE("bytes that are no UTF-8 become U+FFFD", "[json]") {
  CHECK(quoted("a\xff\xC3") == "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(quoted("\xED\xA0\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(quoted("\xC0\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(quoted("é€😀") == "\"é€😀\"");
}

TEST_CASE("numbers without a JSON form become null", "[json]") {
  CHECK(Writer().real(std::numeric_limits<double>::quiet_NaN()).take() == "null");
  CHECK(Writer().real(std::numeric_limits<double>::infinity()).take() == "null");
}
