// json::outline: the same verdict as parse, and the members' texts as they stand.
#include "json/outline.hpp"
#include "support/catch.hpp"

using namespace pgflow;
using namespace pgflow::json;

TEST_CASE("an outline holds the members' texts as written", "[json]") {
  const std::string text =
      R"( {"a" : [1, {"b": 2}] ,"b":{"c":"}"},"c": -1.50 ,"d":"x\"y", "e":null,"f":true,"a":2})";
  const auto read = outline(text);
  REQUIRE(read);
  CHECK(read->type == Type::object);
  CHECK(read->members.size() == 7);
  CHECK(read->members[0].text == R"([1, {"b": 2}])");
  CHECK(read->find("b") == R"({"c":"}"})");
  CHECK(read->find("c") == "-1.50");
  CHECK(read->find("d") == R"("x\"y")");
  CHECK(read->find("e") == "null");
  CHECK(read->find("f") == "true");
  CHECK(read->find("a") == "2");
  CHECK(read->find("g").empty());
}

TEST_CASE("an outline tells the type of any value", "[json]") {
  const auto [text, type] = GENERATE(table<std::string, Type>({
      {"null", Type::null},
      {" 12 ", Type::number},
      {R"("x")", Type::string},
      {"false", Type::boolean},
      {R"([{"a":1}])", Type::array},
      {"{}", Type::object},
  }));
  const auto read = outline(text);
  REQUIRE(read);
  CHECK(read->type == type);
  CHECK(read->members.empty());
}

TEST_CASE("an outline refuses what is not JSON, in the words of parse", "[json]") {
  const std::string text = GENERATE(values<std::string>(
      {"", " ", "{} {}", "debug\n{}", "NaN", "{'a':1}", "{\"a\":", "[1,]", "{} // c", "\"\xff\""}
  ));
  CAPTURE(text);
  const auto tree = parse(text);
  const auto read = outline(text);
  REQUIRE_FALSE(tree);
  REQUIRE_FALSE(read);
  CHECK(read.error().message == tree.error().message);
}

TEST_CASE("an outline tells what JSON cannot be stored, and still reads it", "[json]") {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  const std::string text =
      GENERATE_COPY(values<std::string>({R"("\u0000")", R"(["\udc00"])", R"({"\u0000":1})", deep}));
  CAPTURE(text.substr(0, 20));
  const std::string line = R"({"id": "7", "output": )" + text + "}";
  const auto read = outline(line);
  REQUIRE(read);
  CHECK(read->find("id") == R"("7")");
  CHECK(read->find("output") == text);
  const auto tree = parse(line);
  REQUIRE_FALSE(tree);
  CHECK(read->unstorable == tree.error().message);
  CHECK(outline("[1]")->unstorable.empty());
}
