// json::parse: RapidJSON's SAX reader into our own tree.
#include "json/sax.hpp"

namespace pgflow::json {
namespace {

class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder>,
                    public Refusing {
 public:
  TreeBuilder(std::string_view text, const Stream& stream, bool unique_names)
      : Refusing(text, stream), unique_names_(unique_names) {}

  // What RapidJSON calls; returning false stops it, with the reason in refusal().
  bool Null() { return put({.type = Type::null, .members = {}, .offset = stream_.Tell() - 4}); }
  bool Bool(bool b) {
    return put(
        {.type = Type::boolean, .flag = b, .members = {}, .offset = stream_.Tell() - (b ? 4U : 5U)}
    );
  }
  bool RawNumber(const char* s, rapidjson::SizeType length, bool) {
    return put(
        {.type = Type::number,
         .text = std::string(s, length),
         .members = {},
         .offset = stream_.Tell() - length}
    );
  }
  bool String(const char* s, rapidjson::SizeType length, bool) {
    return storable({s, length}) && put(
                                        {.type = Type::string,
                                         .text = std::string(s, length),
                                         .members = {},
                                         .offset = opening_quote()}
                                    );
  }
  bool Key(const char* s, rapidjson::SizeType length, bool) {
    const std::string_view name(s, length);
    if (!storable(name)) {
      return false;
    }
    Value& object = open_.back();
    if (unique_names_ && object.find(name)) {
      return refuse("the key \"" + std::string(name) + "\" appears twice", opening_quote());
    }
    object.members.push_back({std::string(name), opening_quote(), {}});
    return true;
  }
  bool StartObject() { return open(Type::object); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Type::array); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  Value take_root() { return std::move(root_); }

 private:
  // RapidJSON's iterative parser asks before it takes the bracket.
  // An open container is built apart from its parent, whose vectors may move as they grow.
  bool open(Type type) {
    if (open_.size() >= kMaxDepth) {
      return refuse(
          "nested more than " + std::to_string(kMaxDepth) + " levels deep", stream_.Tell()
      );
    }
    open_.push_back({.type = type, .members = {}, .offset = stream_.Tell()});
    return true;
  }
  bool close() {
    Value done = std::move(open_.back());
    open_.pop_back();
    return put(std::move(done));
  }
  bool put(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Value& container = open_.back(); container.type == Type::array) {
      container.items.push_back(std::move(value));
    } else {
      container.members.back().value = std::move(value);
    }
    return true;
  }

  bool unique_names_;
  Value root_;
  std::vector<Value> open_;
};

template <unsigned Flags>
rapidjson::ParseResult run(Stream& stream, TreeBuilder& builder) {
  rapidjson::Reader reader;
  return reader.Parse<Flags>(stream, builder);
}

rapidjson::ParseResult run(Stream& stream, TreeBuilder& builder, const ParseOptions& options) {
  constexpr unsigned kComments = rapidjson::kParseCommentsFlag;
  constexpr unsigned kCommas = rapidjson::kParseTrailingCommasFlag;
  if (options.comments && options.trailing_commas) {
    return run < kFlags | kComments | kCommas > (stream, builder);
  }
  if (options.comments) {
    return run < kFlags | kComments > (stream, builder);
  }
  return options.trailing_commas ? run < kFlags | kCommas > (stream, builder)
                                 : run<kFlags>(stream, builder);
}

}  // namespace

std::string place(std::string_view text, std::size_t offset, const std::string& source) {
  const auto [line, column] = locate(text, offset);
  return source.empty() ? "line " + std::to_string(line) + ", column " + std::to_string(column)
                        : source + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Result<Value> parse(std::string_view text, const ParseOptions& options) {
  rapidjson::MemoryStream bytes(text.data(), text.size());
  Stream stream(bytes);
  TreeBuilder builder(text, stream, options.unique_names);
  const rapidjson::ParseResult result = run(stream, builder, options);
  if (!builder.refusal().empty()) {
    return fail(
        {"json", place(text, builder.refused_at(), options.source) + ": " + builder.refusal()}
    );
  }
  if (!result) {
    return fail(
        {"json",
         place(text, result.Offset(), options.source) + ": " +
             rapidjson::GetParseError_En(result.Code())}
    );
  }
  return builder.take_root();
}

}  // namespace pgflow::json
