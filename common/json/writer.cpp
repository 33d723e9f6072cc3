// json::Writer over RapidJSON's writers.
#include "json/writer.hpp"

#include <charconv>
#include <cmath>
#include <variant>

#include "base/utf8.hpp"
#include "json/rapidjson.hpp"

namespace pgflow::json {
namespace {

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

rapidjson::Type type_of(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  switch (first == json.npos ? ' ' : json[first]) {
    case '{':
      return rapidjson::kObjectType;
    case '[':
      return rapidjson::kArrayType;
    case '"':
      return rapidjson::kStringType;
    case 't':
      return rapidjson::kTrueType;
    case 'f':
      return rapidjson::kFalseType;
    case 'n':
      return rapidjson::kNullType;
    default:
      return rapidjson::kNumberType;
  }
}

}  // namespace

class Writer::Engine {
 public:
  explicit Engine(Style style) {
    if (style == Style::indented) {
      writer_.emplace<Indented>(buffer_).SetIndent(' ', 2);
    } else {
      writer_.emplace<Compact>(buffer_);
    }
  }

  // f(writer) with whichever of the two it is.
  template <class F>
  void with(F f) {
    if (Compact* compact = std::get_if<Compact>(&writer_)) {
      f(*compact);
    } else {
      f(std::get<Indented>(writer_));
    }
  }
  std::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  using Compact = rapidjson::Writer<rapidjson::StringBuffer>;
  using Indented = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

  rapidjson::StringBuffer buffer_;
  std::variant<std::monostate, Compact, Indented> writer_;
};

Writer::Writer(Style style) : engine_(std::make_unique<Engine>(style)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Writer& Writer::begin_object() {
  engine_->with([](auto& w) { w.StartObject(); });
  return *this;
}
Writer& Writer::end_object() {
  engine_->with([](auto& w) { w.EndObject(); });
  return *this;
}
Writer& Writer::begin_array() {
  engine_->with([](auto& w) { w.StartArray(); });
  return *this;
}
Writer& Writer::end_array() {
  engine_->with([](auto& w) { w.EndArray(); });
  return *this;
}
Writer& Writer::key(std::string_view name) {
  const std::string clean = valid_utf8(name);
  engine_->with([&](auto& w) { w.Key(clean.data(), size_of(clean)); });
  return *this;
}

Writer& Writer::null() {
  engine_->with([](auto& w) { w.Null(); });
  return *this;
}
Writer& Writer::boolean(bool value) {
  engine_->with([&](auto& w) { w.Bool(value); });
  return *this;
}
Writer& Writer::integer(std::int64_t value) {
  engine_->with([&](auto& w) { w.Int64(value); });
  return *this;
}
Writer& Writer::real(double value) {
  if (!std::isfinite(value)) {
    return null();
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return raw({digits, static_cast<std::size_t>(end - digits)});
}
Writer& Writer::string(std::string_view value) {
  const std::string clean = valid_utf8(value);
  engine_->with([&](auto& w) { w.String(clean.data(), size_of(clean)); });
  return *this;
}
Writer& Writer::raw(std::string_view json) {
  engine_->with([&](auto& w) { w.RawValue(json.data(), json.size(), type_of(json)); });
  return *this;
}

Writer& Writer::value(const Value& tree) {
  switch (tree.type) {
    case Type::null:
      return null();
    case Type::boolean:
      return boolean(tree.flag);
    case Type::number:
      return raw(tree.text);
    case Type::string:
      return string(tree.text);
    case Type::array:
      begin_array();
      for (const Value& item : tree.items) {
        value(item);
      }
      return end_array();
    case Type::object:
      begin_object();
      for (const Member& member : tree.members) {
        key(member.name).value(member.value);
      }
      return end_object();
  }
  return *this;
}

std::string Writer::take() {
  return std::string(engine_->text());
}

std::string quoted(std::string_view text) {
  return Writer().string(text).take();
}

std::string text_of(const Value& tree) {
  return Writer().value(tree).take();
}

}  // namespace pgflow::json
