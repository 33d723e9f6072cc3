// C++ values into JSON, by their TypeInfo.
#include <charconv>
#include <cmath>
#include <cstring>

#include <pgflow/json.hpp>

#include "json/codec.hpp"
#include "json/rapidjson.hpp"
#include "json/writer.hpp"

namespace pgflow {
namespace {

using namespace detail;
using json::Path;

// Refuses invalid UTF-8 instead of passing it on; numbers go through RawValue as text.
using Out = rapidjson::Writer<
    rapidjson::StringBuffer,
    rapidjson::UTF8<>,
    rapidjson::UTF8<>,
    rapidjson::CrtAllocator,
    rapidjson::kWriteValidateEncodingFlag>;

void encode_value(const TypeInfo& type, const void* in, Out& out, const Path& at);

// A container being written, carried through a C callback.
struct Container {
  const TypeInfo& element;
  Out& out;
  const Path& at;
  std::size_t next = 0;
};

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

void encode_string(std::string_view text, Out& out, const Path& at) {
  if (text.find('\0') != text.npos) {
    at.fail("the string contains U+0000, which PostgreSQL jsonb cannot store");
  }
  if (!out.String(text.data(), size_of(text))) {
    at.fail("the string is not valid UTF-8");
  }
}

void encode_key(std::string_view key, Out& out, const Path& at) {
  if (key.find('\0') != key.npos) {
    at.fail("the key contains U+0000, which PostgreSQL jsonb cannot store");
  }
  if (!out.Key(key.data(), size_of(key))) {
    at.fail("the key is not valid UTF-8");
  }
}

long long load_signed(const TypeInfo& type, const void* in) {
  const auto load = [in]<class Int>(Int value) -> long long {
    std::memcpy(&value, in, sizeof value);
    return value;
  };
  switch (type.size) {
    case 1:
      return load(std::int8_t{});
    case 2:
      return load(std::int16_t{});
    case 4:
      return load(std::int32_t{});
    default:
      return load(std::int64_t{});
  }
}

void encode_unsigned(const TypeInfo& type, const void* in, Out& out) {
  std::uint64_t value = 0;
  std::memcpy(&value, in, type.size);  // little endian
  out.Uint64(value);
}

// The shortest text that reads back as the same number.
template <class Real>
void encode_real(Real value, Out& out, const Path& at) {
  if (!std::isfinite(value)) {
    at.fail("NaN and infinity have no JSON form");
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.RawValue(digits, static_cast<std::size_t>(end - digits), rapidjson::kNumberType);
}

void encode_raw(const Json& value, Out& out, const Path& at) {
  const auto tree = json::parse(value.text);
  if (!tree) {
    at.fail("pgflow::Json holds invalid JSON: " + tree.error().message);
  }
  const std::string text = json::text_of(*tree);
  out.RawValue(text.data(), text.size(), rapidjson::kObjectType);
}

void encode_enumeration(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  for (const EnumValue& known : json::values_of(type)) {
    // Compared as bytes: an unsigned enumerator above 127 must not gain a sign.
    if (std::memcmp(&known.value, in, type.size) == 0) {
      out.String(known.name.data(), size_of(known.name));
      return;
    }
  }
  at.fail(
      std::string(type.name) + " value " + std::to_string(load_signed(type, in)) + " has no name"
  );
}

void encode_fields(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  for (const FieldInfo& field : json::fields_of(type)) {
    const TypeInfo& field_type = field.type();
    const void* member = static_cast<const char*>(in) + field.offset;
    if (field_type.kind == Kind::optional && !field_type.get(member)) {
      continue;  // absent, like undefined in TypeScript
    }
    out.Key(field.name.data(), size_of(field.name));
    encode_value(field_type, member, out, Path(at, field.name));
  }
}

void encode_sequence(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  Container container{type.element(), out, at};
  out.StartArray();
  type.each(in, &container, [](void* state, const void* element) {
    Container& c = *static_cast<Container*>(state);
    encode_value(c.element, element, c.out, Path(c.at, c.next++));
  });
  out.EndArray();
}

void encode_map(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  Container container{type.element(), out, at};
  out.StartObject();
  type.each_pair(in, &container, [](void* state, std::string_view key, const void* value) {
    Container& c = *static_cast<Container*>(state);
    const Path here(c.at, key);
    encode_key(key, c.out, here);
    encode_value(c.element, value, c.out, here);
  });
  out.EndObject();
}

void encode_tuple(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  out.StartArray();
  std::size_t i = 0;
  for (const FieldInfo& field : json::fields_of(type)) {
    encode_value(field.type(), static_cast<const char*>(in) + field.offset, out, Path(at, i++));
  }
  out.EndArray();
}

void encode_variant(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  const TypeInfo& alternative = json::alternatives_of(type)[type.index(in)]();
  if (type.tag.empty()) {
    return encode_value(alternative, type.get(in), out, at);
  }
  const std::string_view name = json::tag_name(alternative);
  out.StartObject();
  out.Key(type.tag.data(), size_of(type.tag));
  out.String(name.data(), size_of(name));
  if (alternative.kind == Kind::object) {
    encode_fields(alternative, type.get(in), out, at);
  }
  out.EndObject();
}

void encode_via(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  Container container{type.element(), out, at};
  try {
    type.via_encode(in, &container, [](void* state, const void* stored) {
      Container& c = *static_cast<Container*>(state);
      encode_value(c.element, stored, c.out, c.at);
    });
  } catch (const JsonError&) {
    throw;
  } catch (const std::exception& e) {
    at.fail(e.what());
  }
}

void encode_value(const TypeInfo& type, const void* in, Out& out, const Path& at) {
  switch (type.kind) {
    case Kind::null:
      out.Null();
      return;
    case Kind::boolean:
      out.Bool(*static_cast<const bool*>(in));
      return;
    case Kind::integer:
      out.Int64(load_signed(type, in));
      return;
    case Kind::unsigned_integer:
      return encode_unsigned(type, in, out);
    case Kind::real:
      return type.size == sizeof(float) ? encode_real(*static_cast<const float*>(in), out, at)
                                        : encode_real(*static_cast<const double*>(in), out, at);
    case Kind::string:
      return encode_string(*static_cast<const std::string*>(in), out, at);
    case Kind::raw:
      return encode_raw(*static_cast<const Json*>(in), out, at);
    case Kind::enumeration:
      return encode_enumeration(type, in, out, at);
    case Kind::optional:
      if (const void* value = type.get(in)) {
        return encode_value(type.element(), value, out, at);
      }
      out.Null();
      return;
    case Kind::sequence:
      return encode_sequence(type, in, out, at);
    case Kind::map:
      return encode_map(type, in, out, at);
    case Kind::object:
      out.StartObject();
      encode_fields(type, in, out, at);
      out.EndObject();
      return;
    case Kind::tuple:
      return encode_tuple(type, in, out, at);
    case Kind::variant:
      return encode_variant(type, in, out, at);
    case Kind::via:
      return encode_via(type, in, out, at);
  }
}

}  // namespace

namespace detail {

void encode(const TypeInfo& type, const void* in, std::string& out) {
  rapidjson::StringBuffer buffer;
  Out writer(buffer);
  encode_value(type, in, writer, {});
  out.assign(buffer.GetString(), buffer.GetSize());
}

std::string key_to_string(const TypeInfo& type, const void* key) {
  std::string text;
  encode(type, key, text);
  // Enumerators are written with quotes, integers without.
  return text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

}  // namespace detail
}  // namespace pgflow
