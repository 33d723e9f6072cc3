// json::parse: what it accepts, what it refuses and where, and what the tree remembers.
#include "json/value.hpp"
#include "support/catch.hpp"

using namespace pgflow;
using namespace pgflow::json;

namespace {

Value parsed(std::string_view text, const ParseOptions& options = {}) {
  auto value = parse(text, options);
  INFO((value ? std::string() : value.error().message));
  REQUIRE(value.has_value());
  return std::move(*value);
}

std::string refused(std::string_view text, const ParseOptions& options = {}) {
  const auto value = parse(text, options);
  REQUIRE_FALSE(value.has_value());
  CHECK(value.error().kind == "json");
  return value.error().message;
}

}  // namespace

TEST_CASE("every value knows the byte where it begins", "[json]") {
  const std::string text = R"({"a": [1, -2.5e3, "x\"\\"], "\"b\\": {"c": null},
  "d": true, "e": false, "f": ""})";
  const Value root = parsed(text);
  CHECK(root.offset == 0);
  const auto at = [&](const Value& value, std::size_t length) {
    return text.substr(value.offset, length);
  };
  const Value& a = *root.find("a");
  CHECK(at(a, 1) == "[");
  CHECK(at(a.items[0], 1) == "1");
  CHECK(at(a.items[1], 6) == "-2.5e3");
  CHECK(at(a.items[2], 7) == R"("x\"\\")");
  CHECK(at(*root.find("\"b\\"), 4) == R"({"c")");
  CHECK(at(*root.find("\"b\\")->find("c"), 4) == "null");
  CHECK(at(*root.find("d"), 4) == "true");
  CHECK(at(*root.find("e"), 5) == "false");
  CHECK(at(*root.find("f"), 2) == R"("")");
  CHECK(text.substr(root.members[1].offset, 7) == R"("\"b\\")");
}

TEST_CASE("a position counts lines and characters from 1", "[json]") {
  const std::string text = "{\n  \"größe\": 5\n}";
  const Value root = parsed(text);
  const Position at = locate(text, root.find("größe")->offset);
  CHECK(at.line == 2);
  CHECK(at.column == 12);
}

TEST_CASE("numbers keep their text", "[json]") {
  const Value root = parsed("[123456789012345678901234567890.125, -0, 1E2, 9007199254740993, 2.5]");
  CHECK(root.items[0].text == "123456789012345678901234567890.125");
  CHECK(root.items[1].text == "-0");
  CHECK(root.items[2].text == "1E2");
  CHECK(root.items[2].as_int64() == 100);
  CHECK(root.items[3].as_int64() == 9007199254740993);
  CHECK_FALSE(root.items[4].as_int64());
  CHECK(root.items[4].as_double() == 2.5);
  CHECK_FALSE(root.items[0].as_string());
}

TEST_CASE("a syntax error names its place", "[json]") {
  CHECK(refused("[1,2") == "line 1, column 5: Missing a comma or ']' after an array element.");
  CHECK(
      refused("{\n \"a\" 1}", {.source = "pgflow.json"}) ==
      "pgflow.json:2:6: Missing a colon after a name of object member."
  );
  CHECK(refused("").starts_with("line 1, column 1: "));
  CHECK(refused("NaN").starts_with("line 1, column 1: "));
  CHECK(
      refused("1 2") == "line 1, column 3: The document root must not be followed by other values."
  );
}

TEST_CASE("comments and trailing commas are accepted only when asked for", "[json]") {
  const std::string text = "// head\n{\"a\": 1, /* \"b\" */ \"c\": [2,],}\n";
  CHECK(parsed(text, with_comments("f")).find("c")->items.size() == 1);
  CHECK(parsed(text, {.comments = true, .trailing_commas = true}).members.size() == 2);
  CHECK(parse(text, {.comments = true}).has_value() == false);
  CHECK(parse(text, {.trailing_commas = true}).has_value() == false);
  CHECK(parse(text).has_value() == false);
}

TEST_CASE("the last of two equal keys counts, unless they are refused", "[json]") {
  const std::string text = R"({"a": 1, "a": 2})";
  CHECK(parsed(text).find("a")->text == "2");
  CHECK(refused(text, {.unique_names = true}) == R"(line 1, column 10: the key "a" appears twice)");
}

TEST_CASE("what jsonb cannot store is refused", "[json]") {
  CHECK(refused(R"({"a":"x\u0000y"})").find("U+0000") != std::string::npos);
  CHECK(refused(R"({"a\u0000":1})").find("U+0000") != std::string::npos);
  CHECK(refused(R"(["\udc00"])").find("surrogate") != std::string::npos);
  CHECK(refused(R"(["\ud800"])").find("surrogate") != std::string::npos);
  CHECK(refused("\"\xff\"").find("Invalid encoding") != std::string::npos);
  CHECK(parsed(R"("\ud83d\ude00")").text == "\xF0\x9F\x98\x80");
}

TEST_CASE("nesting ends at 512 levels", "[json]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(parse(nested(kMaxDepth)).has_value());
  CHECK(refused(nested(kMaxDepth + 1)) == "line 1, column 513: nested more than 512 levels deep");
  CHECK(refused(std::string(200000, '[')).find("nested more than 512") != std::string::npos);
}

TEST_CASE("a long string is shown shortened between characters", "[json]") {
  Value value{.type = Type::string, .text = "halp", .members = {}};
  CHECK(value.shown() == "\"halp\"");
  value.text = std::string(36, 'x') + "ééé";
  CHECK(value.shown() == "\"" + std::string(36, 'x') + "...\"");
}
