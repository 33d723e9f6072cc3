// from_json, to_json, json_schema: every kind of type, and what the errors say.
#include <array>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <pgflow/json.hpp>
#include <pgflow/json_fields.hpp>
#include <set>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "support/catch.hpp"

using namespace pgflow;

namespace {

enum class Route { help, bug, other };
enum class Mode { fail, skip, skip_cascade };
enum class Byte : unsigned char { low = 1, high = 200 };

struct Inner {
  int a;
  std::string b;
};
struct Node {
  std::string name;
  std::vector<Node> children;
  std::unique_ptr<Node> next;
};
struct Everything {
  std::string thread_id;
  Inner inner;
  std::vector<Inner> list;
  std::optional<int> opt;
  std::array<int, 3> arr;
  std::map<std::string, int> m;
  std::variant<int, std::string> v;
  bool ok;
  double confidence;
  std::int64_t id64;
  std::uint64_t u64;
  std::chrono::system_clock::time_point tp;
  Route r;
  std::tuple<int, std::string> tup;
  std::set<int> si;
  std::vector<bool> vb;
  std::int8_t small;
  Json anything;
  std::chrono::seconds wait;
  Mode mode;
  std::map<Route, int> by_route;
  std::chrono::sys_days day;
  std::monostate nothing;
  float f;
};
struct Email {
  std::string to;
};
struct Sms {
  std::string number;
};
using Channel = std::variant<Email, Sms>;
struct Notify {
  Channel channel;
};
struct Money {
  std::int64_t cents;
};
struct Bill {
  Money total;
  std::optional<Money> tip;
};
class Hidden {
 public:
  int secret() const { return secret_; }
  PGFLOW_FIELDS(Hidden, secret_, (kind_, "class"))

 private:
  int secret_ = 0;
  std::string kind_;
};
struct Renamed {
  int class_;
  int ok;
};
struct Strict {
  int retries;
};
template <class T>
struct Page {
  std::vector<T> rows;
  int total;
};

struct NoJson {
  int fine;
  struct Deep {
    std::vector<void*> pointers;
  } deep;
};
static_assert(!JsonType<NoJson>);
static_assert(JsonType<Everything> && JsonType<Node> && JsonType<Notify> && JsonType<Page<Inner>>);

const std::string kEverything =
    R"({"thread_id":"t","inner":{"a":1,"b":"x"},"list":[{"a":2,"b":"y"}],"opt":5,"arr":[1,2,3],)"
    R"("m":{"k":7},"v":"s","ok":true,"confidence":0.1,"id64":9007199254740993,)"
    R"("u64":18446744073709551615,"tp":"2026-03-25T10:00:00.123456Z","r":"bug","tup":[1,"z"],)"
    R"("si":[1,2],"vb":[true,false],"small":-128,)"
    R"("anything":{"n":123456789012345678901234567890.125},"wait":30,"mode":"skip-cascade",)"
    R"("by_route":{"help":1},"day":"2026-02-28","nothing":null,"f":0.1})";

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const JsonError& e) {
    return e.what();
  }
  return "(no error)";
}

// The error of reading kEverything with one part replaced.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kEverything;
  text.replace(text.find(from), from.size(), to);
  return error_of([&] { from_json<Everything>(text); });
}

}  // namespace

template <>
inline constexpr auto pgflow::enum_names<Mode> = pgflow::names<Mode, 3>{
    {{Mode::fail, "fail"}, {Mode::skip, "skip"}, {Mode::skip_cascade, "skip-cascade"}}
};
template <>
struct pgflow::enum_range<Byte> {
  static constexpr int min = 192;
  static constexpr int max = 255;
};
template <>
inline constexpr std::string_view pgflow::json_tag<Channel> = "kind";
template <>
struct pgflow::json_as<Money> {
  using type = std::int64_t;
  static Money from(std::int64_t cents) {
    if (cents < 0) {
      throw std::invalid_argument("money cannot be negative");
    }
    return {cents};
  }
  static std::int64_t to(const Money& money) { return money.cents; }
};
template <>
inline constexpr auto pgflow::json_keys<Renamed> = pgflow::keys<1>{{{"class_", "class"}}};
template <>
inline constexpr bool pgflow::json_strict<Strict> = true;

TEST_CASE("a value of every kind survives the way to JSON and back", "[json]") {
  CHECK(to_json(from_json<Everything>(kEverything)) == kEverything);
  const auto value = from_json<Everything>(kEverything);
  CHECK(value.id64 == 9007199254740993LL);
  CHECK(value.u64 == std::numeric_limits<std::uint64_t>::max());
  CHECK(value.inner.b == "x");
}

TEST_CASE("a value that does not fit is named with its place and reason", "[json]") {
  CHECK(
      error_with("\"r\":\"bug\"", "\"r\":\"halp\"") ==
      R"(/r: expected one of "help", "bug", "other", got "halp")"
  );
  CHECK(error_with("\"y\"", "5") == "/list/0/b: expected a string, got 5");
  CHECK(error_with("-128", "-129") == "/small: -129 does not fit in int8");
  CHECK(
      error_with("18446744073709551615", "18446744073709551616") ==
      "/u64: 18446744073709551616 does not fit in uint64"
  );
  CHECK(error_with("18446744073709551615", "-1") == "/u64: -1 does not fit in uint64");
  CHECK(
      error_with("9007199254740993", "9223372036854775808") ==
      "/id64: 9223372036854775808 does not fit in int64"
  );
  CHECK(error_with("9007199254740993", "1.5") == "/id64: expected an integer, got 1.5");
  CHECK(error_with("9007199254740993", "\"1\"") == "/id64: expected an integer, got \"1\"");
  CHECK(error_with("\"f\":0.1", "\"f\":1e300") == "/f: 1e300 does not fit in float");
  CHECK(error_with("\"ok\":true,", "") == "/ok: is missing");
  CHECK(error_with("[1,2,3]", "[1,2]") == "/arr: expected 3 elements, got 2");
  CHECK(error_with("[1,2,3]", "[1,2,3,4]") == "/arr: expected 3 elements, got 4");
  CHECK(error_with("[1,\"z\"]", "[1]") == "/tup: expected 2 elements, got 1");
  CHECK(
      error_with("{\"k\":7}", "{\"a/b~c\":\"x\"}") == "/m/a~1b~0c: expected an integer, got \"x\""
  );
  CHECK(
      error_with("{\"help\":1}", "{\"halp\":1}") ==
      R"(/by_route/halp: key: expected one of "help", "bug", "other", got "halp")"
  );
  CHECK(
      error_with("\"v\":\"s\"", "\"v\":true") ==
      "/v: matches no alternative; int32: expected an integer, got true; string: expected a "
      "string, "
      "got true"
  );
  CHECK(error_of([] {
          from_json<int>("[1,2");
        }) == "(document): line 1, column 5: Missing a comma or ']' after an array element.");
}

TEST_CASE("an integer may be written with an exponent or a zero fraction", "[json]") {
  CHECK(from_json<long>("1e3") == 1000);
  CHECK(from_json<int>("2.0") == 2);
  CHECK(error_of([] { from_json<int>("1e10"); }) == "(document): 1e10 does not fit in int32");
  CHECK(error_of([] { from_json<int>("1e-1"); }) == "(document): expected an integer, got 1e-1");
}

TEST_CASE("times are read in any zone and written in UTC", "[json]") {
  using Time = std::chrono::sys_time<std::chrono::microseconds>;
  const auto utc = [](const std::string& text) { return to_json(from_json<Time>(text)); };
  CHECK(utc("\"2026-03-25T10:00:00+02:00\"") == "\"2026-03-25T08:00:00Z\"");
  CHECK(utc("\"2026-03-25t23:30:00.1234567-0130\"") == "\"2026-03-26T01:00:00.123456Z\"");
  CHECK(utc("\"1969-12-31T23:59:59.5Z\"") == "\"1969-12-31T23:59:59.500000Z\"");
  CHECK(
      error_with("2026-03-25T10:00:00.123456Z", "2026-13-25T10:00:00Z") ==
      "/tp: not a valid date: \"2026-13-25T10:00:00Z\""
  );
  CHECK(
      error_with("2026-03-25T10:00:00.123456Z", "2026-03-25T10:00:00") ==
      "/tp: a time needs a zone (Z or +hh:mm): \"2026-03-25T10:00:00\""
  );
  for (const char* bad :
       {"",
        "2026",
        "2026-03-25",
        "2026-03-25T24:00:00Z",
        "2026-03-25T10:00:00.Z",
        "2026-03-25T10:00:00Zx",
        "2026-03-25T10:00:00+1"}) {
    CAPTURE(bad);
    CHECK(error_with("2026-03-25T10:00:00.123456Z", bad).starts_with("/tp: "));
  }
  CHECK(error_with("2026-02-28", "2026-02-30") == "/day: not a valid date: \"2026-02-30\"");
}

TEST_CASE("an empty optional is absent, and absent or null is empty", "[json]") {
  CHECK(from_json<Bill>(R"({"total":5,"tip":null})").tip.has_value() == false);
  CHECK(from_json<Bill>(R"({"total":5})").tip.has_value() == false);
  CHECK(to_json(Bill{{5}, {}}) == R"({"total":5})");
  CHECK(to_json(std::vector<std::optional<int>>{1, std::nullopt}) == "[1,null]");
}

TEST_CASE("a recursive type is read and written", "[json]") {
  const std::string text =
      R"({"name":"a","children":[{"name":"b","children":[]}],"next":{"name":"c","children":[]}})";
  CHECK(to_json(from_json<Node>(text)) == text);
}

TEST_CASE("containers of all sorts are arrays and objects", "[json]") {
  CHECK(to_json(from_json<std::deque<int>>("[2,1]")) == "[2,1]");
  CHECK(to_json(from_json<std::list<std::string>>("[\"b\"]")) == "[\"b\"]");
  CHECK(
      to_json(from_json<std::unordered_map<std::string, bool>>("{\"a\":true}")) == "{\"a\":true}"
  );
  CHECK(to_json(from_json<std::map<int, int>>("{\"7\":1}")) == "{\"7\":1}");
  CHECK(error_of([] { from_json<std::map<int, int>>("{\"x\":1}"); }).starts_with("/x: key: "));
  CHECK(
      to_json(from_json<Page<Inner>>(R"({"rows":[{"a":1,"b":""}],"total":1})")) ==
      R"({"rows":[{"a":1,"b":""}],"total":1})"
  );
}

TEST_CASE("json_as stores a type as another one", "[json]") {
  CHECK(from_json<Bill>(R"({"total":5})").total.cents == 5);
  CHECK(error_of([] { from_json<Bill>(R"({"total":-5})"); }) == "/total: money cannot be negative");
  CHECK(error_of([] { from_json<Bill>(R"({"total":"5"})"); }).starts_with("/total: expected an"));
}

TEST_CASE("a tagged variant is one object with the alternative's name", "[json]") {
  CHECK(to_json(Notify{Sms{"1"}}) == R"({"channel":{"kind":"Sms","number":"1"}})");
  const auto read = from_json<Notify>(R"({"channel":{"kind":"Email","to":"x"}})");
  CHECK(std::get<Email>(read.channel).to == "x");
  CHECK(error_of([] {
          from_json<Notify>(R"({"channel":{"kind":"Fax"}})");
        }) == R"(/channel/kind: expected one of "Email", "Sms", got "Fax")");
  CHECK(error_of([] {
          from_json<Notify>(R"({"channel":{}})");
        }) == R"(/channel/kind: is missing (one of "Email", "Sms"))");
}

TEST_CASE("members can be named by hand or renamed", "[json]") {
  CHECK(
      to_json(from_json<Hidden>(R"({"secret_":4,"class":"c"})")) == R"({"secret_":4,"class":"c"})"
  );
  CHECK(to_json(Renamed{1, 2}) == R"({"class":1,"ok":2})");
}

TEST_CASE("unknown keys are ignored, and refused with a suggestion where asked for", "[json]") {
  CHECK(from_json<Inner>(R"({"a":1,"b":"","c":2})").a == 1);
  CHECK(error_of([] {
          from_json<Strict>(R"({"retires":1})");
        }) == R"(/retires: unknown key; did you mean "retries"?)");
}

TEST_CASE("an enumerator above 127 of an unsigned type keeps its name", "[json]") {
  CHECK(to_json(Byte::high) == "\"high\"");
  CHECK(from_json<Byte>("\"high\"") == Byte::high);
  CHECK(error_of([] { to_json(Byte::low); }).find("has no name") != std::string::npos);
}

TEST_CASE("what JSON or jsonb cannot hold is an error with its place", "[json]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_of([] {
          to_json(std::vector<double>{1, kNan});
        }) == "/1: NaN and infinity have no JSON form");
  const std::string nul("a\0b", 3);
  CHECK(error_of([&] {
          to_json(std::map<std::string, std::string>{{"k", nul}});
        }) == "/k: the string contains U+0000, which PostgreSQL jsonb cannot store");
  CHECK(error_of([&] {
          to_json(std::map<std::string, int>{{nul, 1}});
        }).find("\\u0000b: the key contains U+0000") != std::string::npos);
  CHECK(error_of([] {
          to_json(std::string("\xff"));
        }) == "(document): the string is not valid UTF-8");
  CHECK(error_of([] { to_json(Json{"{"}); }).starts_with("(document): pgflow::Json holds invalid"));
  CHECK(error_of([] {
          from_json<Json>(std::string(200000, '['));
        }).find("512") != std::string::npos);
}

TEST_CASE("Json passes any value through", "[json]") {
  CHECK(from_json<Json>("{\"a\": 1.10}").text == "{\"a\":1.10}");
  CHECK(error_of([] { from_json<Json>("1e400"); }).find("too big") != std::string::npos);
  CHECK(to_json(std::vector<Json>{{"1"}, {"\"x\""}, {"{}"}}) == R"([1,"x",{}])");
}

TEST_CASE("a schema describes the form", "[json]") {
  CHECK(json_schema<int>() == R"({"type":"integer","minimum":-2147483648,"maximum":2147483647})");
  CHECK(json_schema<std::uint64_t>() == R"({"type":"integer","format":"uint64","minimum":0})");
  CHECK(
      json_schema<std::vector<Route>>() ==
      R"({"type":"array","items":{"enum":["help","bug","other"]}})"
  );
  CHECK(
      json_schema<std::chrono::system_clock::time_point>() ==
      R"({"type":"string","format":"date-time"})"
  );
  const std::string node = json_schema<Node>();
  CHECK(node.find(R"("$ref":"#/$defs/)") != std::string::npos);
  CHECK(node.find(R"("required":["name","children"])") != std::string::npos);
  CHECK(json_schema<Channel>().find(R"("kind":{"const":"Email"})") != std::string::npos);
  CHECK(
      json_schema<Strict>() ==
      R"({"type":"object","properties":{"retries":{"type":"integer","minimum":-2147483648,)"
      R"("maximum":2147483647}},"required":["retries"],"additionalProperties":false})"
  );
  for (const auto& text : {json_schema<Everything>(), json_schema<Node>(), json_schema<Notify>()}) {
    CHECK_NOTHROW(from_json<Json>(text));
  }
}
