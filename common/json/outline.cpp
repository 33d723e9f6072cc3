// json::outline: RapidJSON's SAX reader, of which only the top level is remembered; a refusal does
// not stop it.
#include "json/outline.hpp"

#include "json/sax.hpp"

namespace pgflow::json {
namespace {

class OutlineBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, OutlineBuilder>,
                       public Refusing {
 public:
  using Refusing::Refusing;

  bool Null() { return scalar(Type::null); }
  bool Bool(bool) { return scalar(Type::boolean); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return scalar(Type::number); }
  bool String(const char* s, rapidjson::SizeType length, bool) {
    storable({s, length});
    return scalar(Type::string);
  }
  bool Key(const char* s, rapidjson::SizeType length, bool) {
    storable({s, length});
    if (depth_ == 1) {
      outline_.members.push_back({std::string(s, length), {}});
      key_end_ = stream_.Tell();
    }
    return true;
  }
  bool StartObject() { return open(Type::object); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Type::array); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  Outline take() { return std::move(outline_); }

 private:
  bool open(Type type) {
    if (depth_ == kMaxDepth) {
      refuse("nested more than " + std::to_string(kMaxDepth) + " levels deep", stream_.Tell());
    }
    if (depth_++ == 0) outline_.type = type;
    return true;
  }
  // RapidJSON's iterative parser asks before it takes the bracket.
  bool close() {
    if (--depth_ == 1) remember(stream_.Tell() + 1);
    return true;
  }
  bool scalar(Type type) {
    if (depth_ == 0) outline_.type = type;
    if (depth_ == 1) remember(stream_.Tell());
    return true;
  }
  void remember(std::size_t end) {
    if (outline_.type != Type::object) return;
    const std::size_t colon = text_.find(':', key_end_);
    const std::size_t begin = text_.find_first_not_of(" \t\r\n", colon + 1);
    outline_.members.back().text = text_.substr(begin, end - begin);
  }

  Outline outline_;
  std::size_t depth_ = 0;
  std::size_t key_end_ = 0;  // of the last key of the top level
};

}  // namespace

std::string_view Outline::find(std::string_view name) const {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->name == name) return member->text;
  }
  return {};
}

Result<Outline> outline(std::string_view text) {
  rapidjson::MemoryStream bytes(text.data(), text.size());
  Stream stream(bytes);
  OutlineBuilder builder(text, stream);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (!result) {
    return fail(
        {"json",
         place(text, result.Offset(), {}) + ": " + rapidjson::GetParseError_En(result.Code())}
    );
  }
  Outline outline = builder.take();
  if (!builder.refusal().empty()) {
    outline.unstorable = place(text, builder.refused_at(), {}) + ": " + builder.refusal();
  }
  return outline;
}

}  // namespace pgflow::json
