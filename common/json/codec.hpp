// What reading, writing, pattern checks and schemas of C++ types share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <pgflow/detail/type_info.hpp>

#include "json/path.hpp"
#include "json/value.hpp"

namespace pgflow::json {

// parse() for the public functions, which throw.
Value parse_or_throw(std::string_view text);

void decode(const detail::TypeInfo&, void* out, const Value&, const Path&);

[[noreturn]] void expected(const Path&, std::string_view what, const Value& got);

std::span<const detail::FieldInfo> fields_of(const detail::TypeInfo&);
std::span<const detail::EnumValue> values_of(const detail::TypeInfo&);
std::span<const detail::TypeRef> alternatives_of(const detail::TypeInfo&);

// An alternative's name in a tagged union: its type's name without namespaces.
std::string_view tag_name(const detail::TypeInfo&);

}  // namespace pgflow::json
