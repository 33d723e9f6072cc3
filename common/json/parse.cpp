// json::parse: RapidJSON's SAX reader into our own tree.
#include <cstring>
#include <memory>

#include "json/rapidjson.hpp"
#include "json/value.hpp"

namespace pgflow::json {
namespace {

using Stream = rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream>;

// RapidJSON's own flag for its iterative parser: the recursive one could overflow the stack.
constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                            rapidjson::kParseValidateEncodingFlag;

class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder> {
 public:
  TreeBuilder(std::string_view text, const Stream& stream, bool unique_names)
      : text_(text), stream_(stream), unique_names_(unique_names) {}

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
  const std::string& refusal() const { return refusal_; }
  std::size_t refused_at() const { return refused_at_; }

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

  bool storable(std::string_view s) {
    if (s.find('\0') != s.npos) {
      return refuse(
          "a string contains U+0000, which PostgreSQL jsonb cannot store", opening_quote()
      );
    }
    // RapidJSON lets "\udc00" through and writes it as a three-byte sequence that is no UTF-8.
    for (std::size_t i = s.find('\xED'); i != s.npos; i = s.find('\xED', i + 1)) {
      if (i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) >= 0xA0) {
        return refuse(
            "a string contains a lone surrogate, which PostgreSQL jsonb cannot store",
            opening_quote()
        );
      }
    }
    return true;
  }
  bool refuse(std::string why, std::size_t offset) {
    refusal_ = std::move(why);
    refused_at_ = offset;
    return false;
  }

  // The reader stands behind a string's closing quote; between the two quotes every other one is
  // escaped.
  std::size_t opening_quote() const {
    std::size_t at = stream_.Tell() - 1;
    for (std::size_t backslashes = 1; backslashes % 2 == 1;) {
      at = text_.rfind('"', at - 1);
      backslashes = 0;
      while (backslashes < at && text_[at - 1 - backslashes] == '\\') {
        ++backslashes;
      }
    }
    return at;
  }

  std::string_view text_;
  const Stream& stream_;
  bool unique_names_;
  Value root_;
  std::vector<Value> open_;
  std::string refusal_;
  std::size_t refused_at_ = 0;
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

std::string place(std::string_view text, std::size_t offset, const std::string& source) {
  const auto [line, column] = locate(text, offset);
  return source.empty() ? "line " + std::to_string(line) + ", column " + std::to_string(column)
                        : source + ":" + std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace

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
