// JSON into C++ values, by their TypeInfo.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pgflow/json.hpp>

#include "base/did_you_mean.hpp"
#include "json/codec.hpp"
#include "json/number.hpp"
#include "json/writer.hpp"

namespace pgflow {

namespace detail {

void decode(const TypeInfo& type, void* out, std::string_view text) {
  json::decode(type, out, json::parse_or_throw(text), {});
}

void throw_length(std::size_t expected, std::size_t got) {
  throw std::invalid_argument(
      "expected " + std::to_string(expected) + " elements, got " + std::to_string(got)
  );
}

}  // namespace detail

namespace json {

using detail::EnumValue;
using detail::FieldInfo;
using detail::Kind;
using detail::TypeInfo;
using detail::TypeRef;

namespace {

// A value to be decoded, carried through a C callback.
struct Pending {
  const TypeInfo& type;
  const Value& value;
  const Path& at;

  static void decode_into(void* state, void* out) {
    const Pending& self = *static_cast<const Pending*>(state);
    decode(self.type, out, self.value, self.at);
  }
};

std::string quoted_list(std::span<const EnumValue> values) {
  std::string list;
  for (const EnumValue& value : values) {
    list += (list.empty() ? "\"" : ", \"") + std::string(value.name) + "\"";
  }
  return list;
}

template <class Int, class Wide>
bool store(void* out, Wide value) {
  if (!std::in_range<Int>(value)) {
    return false;
  }
  const Int narrow = static_cast<Int>(value);
  std::memcpy(out, &narrow, sizeof narrow);
  return true;
}

bool store_integer(const TypeInfo& type, void* out, std::string_view text) {
  if (type.kind == Kind::unsigned_integer) {
    const auto value = integer<unsigned long long>(text);
    return value && (type.size == 1   ? store<std::uint8_t>(out, *value)
                     : type.size == 2 ? store<std::uint16_t>(out, *value)
                     : type.size == 4 ? store<std::uint32_t>(out, *value)
                                      : store<std::uint64_t>(out, *value));
  }
  const auto value = integer<long long>(text);
  return value && (type.size == 1   ? store<std::int8_t>(out, *value)
                   : type.size == 2 ? store<std::int16_t>(out, *value)
                   : type.size == 4 ? store<std::int32_t>(out, *value)
                                    : store<std::int64_t>(out, *value));
}

void decode_integer(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  if (value.type != Type::number) {
    expected(at, "an integer", value);
  }
  if (store_integer(type, out, value.text)) {
    return;
  }
  if (value.text.find_first_of(".eE") != std::string::npos && !value.as_int64()) {
    expected(at, "an integer", value);
  }
  at.fail(value.text + " does not fit in " + std::string(type.name));
}

void decode_real(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  if (value.type != Type::number) {
    expected(at, "a number", value);
  }
  const auto number = real(value.text);
  const double most = type.size == sizeof(float) ? std::numeric_limits<float>::max()
                                                 : std::numeric_limits<double>::max();
  if (!number || std::fabs(*number) > most) {
    at.fail(value.text + " does not fit in " + std::string(type.name));
  }
  if (type.size == sizeof(float)) {
    *static_cast<float*>(out) = static_cast<float>(*number);
  } else {
    *static_cast<double*>(out) = *number;
  }
}

void decode_enumeration(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  const auto known = values_of(type);
  for (const EnumValue& one : known) {
    if (value.type == Type::string && one.name == value.text) {
      std::memcpy(out, &one.value, type.size);  // little endian: the low bytes come first
      return;
    }
  }
  at.fail("expected one of " + quoted_list(known) + ", got " + value.shown());
}

void decode_sequence(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  if (value.type != Type::array) {
    expected(at, "an array", value);
  }
  if (type.finish) {  // before anything is written past a fixed array's end
    try {
      type.finish(out, value.items.size());
    } catch (const std::exception& e) {
      at.fail(e.what());
    }
  }
  type.clear(out);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const Path here(at, i);
    if (type.via_decode) {
      Pending element{type.element(), value.items[i], here};
      type.via_decode(out, &Pending::decode_into, &element);
    } else {
      decode(type.element(), type.emplace(out, {}, i), value.items[i], here);
    }
  }
}

void decode_map(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  if (value.type != Type::object) {
    expected(at, "an object", value);
  }
  type.clear(out);
  for (std::size_t i = 0; i < value.members.size(); ++i) {
    const Member& member = value.members[i];
    const Path here(at, member.name);
    void* slot = nullptr;
    try {
      slot = type.emplace(out, member.name, i);
    } catch (const JsonError& e) {
      here.fail("key: " + e.reason);
    }
    decode(type.element(), slot, member.value, here);
  }
}

void refuse_unknown_keys(std::span<const FieldInfo> fields, const Value& value, const Path& at) {
  std::vector<std::string> known;
  for (const FieldInfo& field : fields) {
    known.emplace_back(field.name);
  }
  for (const Member& member : value.members) {
    if (std::find(known.begin(), known.end(), member.name) == known.end()) {
      const auto meant = did_you_mean(member.name, known);
      Path(at, member.name)
          .fail("unknown key" + (meant ? "; did you mean \"" + *meant + "\"?" : std::string()));
    }
  }
}

void decode_object(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  if (value.type != Type::object) {
    expected(at, "an object", value);
  }
  const auto fields = fields_of(type);
  if (type.strict) {
    refuse_unknown_keys(fields, value, at);
  }
  for (const FieldInfo& field : fields) {
    const TypeInfo& field_type = field.type();
    void* slot = static_cast<char*>(out) + field.offset;
    const Value* found = value.find(field.name);
    const Path here(at, field.name);
    if (!found) {
      if (field_type.kind != Kind::optional) {
        here.fail("is missing");
      }
      field_type.clear(slot);
    } else if (field.skippable) {
      // Present means not skipped, also when the output itself is null.
      decode(field_type.element(), field_type.emplace(slot, {}, 0), *found, here);
    } else {
      decode(field_type, slot, *found, here);
    }
  }
}

void decode_tuple(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  const auto fields = fields_of(type);
  if (value.type != Type::array) {
    expected(at, "an array", value);
  }
  if (value.items.size() != fields.size()) {
    at.fail(
        "expected " + std::to_string(fields.size()) + " elements, got " +
        std::to_string(value.items.size())
    );
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    void* slot = static_cast<char*>(out) + fields[i].offset;
    decode(fields[i].type(), slot, value.items[i], Path(at, i));
  }
}

void decode_tagged(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  if (value.type != Type::object) {
    expected(at, "an object", value);
  }
  const Value* tag = value.find(type.tag);
  const auto alternatives = alternatives_of(type);
  std::string known;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const std::string_view name = tag_name(alternatives[i]());
    if (tag && tag->as_string() == name) {
      return decode(alternatives[i](), type.emplace(out, {}, i), value, at);
    }
    known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  const Path here(at, type.tag);
  here.fail(
      tag ? "expected one of " + known + ", got " + tag->shown()
          : "is missing (one of " + known + ")"
  );
}

void decode_untagged(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  const auto alternatives = alternatives_of(type);
  std::string reasons;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const TypeInfo& alternative = alternatives[i]();
    try {
      return decode(alternative, type.emplace(out, {}, i), value, at);
    } catch (const JsonError& e) {
      const bool deeper = e.pointer != at.text();
      reasons +=
          "; " + std::string(alternative.name) + ": " + (deeper ? e.pointer + " " : "") + e.reason;
    }
  }
  at.fail("matches no alternative" + reasons);
}

void decode_via(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  Pending stored{type.element(), value, at};
  try {
    type.via_decode(out, &Pending::decode_into, &stored);
  } catch (const JsonError&) {
    throw;
  } catch (const std::exception& e) {
    at.fail(e.what());
  }
}

}  // namespace

void decode(const TypeInfo& type, void* out, const Value& value, const Path& at) {
  switch (type.kind) {
    case Kind::null:
      return;
    case Kind::boolean:
      if (value.type != Type::boolean) {
        expected(at, "a boolean", value);
      }
      *static_cast<bool*>(out) = value.flag;
      return;
    case Kind::integer:
    case Kind::unsigned_integer:
      return decode_integer(type, out, value, at);
    case Kind::real:
      return decode_real(type, out, value, at);
    case Kind::string:
      if (value.type != Type::string) {
        expected(at, "a string", value);
      }
      *static_cast<std::string*>(out) = value.text;
      return;
    case Kind::raw:
      static_cast<Json*>(out)->text = text_of(value);
      return;
    case Kind::enumeration:
      return decode_enumeration(type, out, value, at);
    case Kind::optional:
      if (value.type == Type::null) {
        return type.clear(out);
      }
      return decode(type.element(), type.emplace(out, {}, 0), value, at);
    case Kind::sequence:
      return decode_sequence(type, out, value, at);
    case Kind::map:
      return decode_map(type, out, value, at);
    case Kind::object:
      return decode_object(type, out, value, at);
    case Kind::tuple:
      return decode_tuple(type, out, value, at);
    case Kind::variant:
      return type.tag.empty() ? decode_untagged(type, out, value, at)
                              : decode_tagged(type, out, value, at);
    case Kind::via:
      return decode_via(type, out, value, at);
  }
}

Value parse_or_throw(std::string_view text) {
  auto value = parse(text);
  if (!value) {
    throw JsonError("", value.error().message);
  }
  return std::move(*value);
}

void expected(const Path& at, std::string_view what, const Value& got) {
  at.fail("expected " + std::string(what) + ", got " + got.shown());
}

std::span<const FieldInfo> fields_of(const TypeInfo& type) {
  std::size_t count = 0;
  const FieldInfo* first = type.fields(count);
  return {first, count};
}
std::span<const EnumValue> values_of(const TypeInfo& type) {
  std::size_t count = 0;
  const EnumValue* first = type.values(count);
  return {first, count};
}
std::span<const TypeRef> alternatives_of(const TypeInfo& type) {
  std::size_t count = 0;
  const TypeRef* first = type.alternatives(count);
  return {first, count};
}

std::string_view tag_name(const TypeInfo& type) {
  const std::size_t colon = type.name.rfind(':');
  return colon == type.name.npos ? type.name : type.name.substr(colon + 1);
}

}  // namespace json
}  // namespace pgflow
