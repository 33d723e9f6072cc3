// One constant table per C++ type, from which the library reads, writes and describes its JSON
// form. Templates here only build tables; all work is done by non-template code in the library's
// room json/.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <pgflow/detail/reflect.hpp>
#include <pgflow/ids.hpp>
#include <pgflow/json_custom.hpp>

namespace pgflow::detail {

enum class Kind : std::uint8_t {
  null,
  boolean,
  integer,
  unsigned_integer,
  real,
  string,
  raw,  // pgflow::Json
  enumeration,
  optional,
  sequence,
  map,
  object,
  tuple,
  variant,
  via,  // stored as another type (json_as)
};

struct TypeInfo;
// A function, not a reference: a recursive type must be able to name itself while its table is
// being built.
using TypeRef = const TypeInfo& (*)();

struct FieldInfo {
  std::string_view name;
  std::size_t offset = 0;
  TypeRef type = nullptr;
  bool skippable = false;  // output of a dependency that may have been skipped: absent means empty
};

using Visit = void (*)(void* state, const void* element);
using VisitPair = void (*)(void* state, std::string_view key, const void* value);

// Each function is set for the kinds named beside it, null otherwise.
struct TypeInfo {
  Kind kind = Kind::null;
  std::uint8_t size = 0;  // bytes of a number or an enumeration
  bool strict = false;    // object: unknown keys are errors
  std::string_view name;
  std::string_view tag{};     // variant: key of the alternative's name, "" for untagged
  std::string_view format{};  // via: "format" in the schema
  TypeRef element = nullptr;  // optional, sequence, map, via

  const FieldInfo* (*fields)(std::size_t& count) = nullptr;      // object, tuple
  const EnumValue* (*values)(std::size_t& count) = nullptr;      // enumeration
  const TypeRef* (*alternatives)(std::size_t& count) = nullptr;  // variant

  void (*clear)(void*) = nullptr;  // optional, sequence, map
  // Makes and returns the value inside an optional, the next element, the map's slot, the variant's
  // alternative.
  void* (*emplace)(void*, std::string_view key, std::size_t index) = nullptr;
  void (*finish)(void*, std::size_t count) = nullptr;  // fixed arrays: throws on a wrong length
  // via; sequences without references to their elements: decode into a temporary, then store it.
  void (*via_decode)(void* out, void (*decode)(void* state, void* temporary), void* state) =
      nullptr;

  const void* (*get)(const void*) = nullptr;                // optional (null when empty), variant
  std::size_t (*index)(const void*) = nullptr;              // variant
  void (*each)(const void*, void* state, Visit) = nullptr;  // sequence
  void (*each_pair)(const void*, void* state, VisitPair) = nullptr;  // map
  void (*via_encode)(const void* in, void* state, Visit) = nullptr;  // via
};

template <class T>
const TypeInfo& type_info();

// ---- The library's side. All throw JsonError.
void decode(const TypeInfo&, void* out, std::string_view text);
void encode(const TypeInfo&, const void* in, std::string& out);
// Could any value of the type contain this pattern? Unknown members and impossible values throw.
void check_pattern(const TypeInfo&, std::string_view pattern);
std::string schema(const TypeInfo&);  // JSON Schema 2020-12
std::string key_to_string(const TypeInfo&, const void*);
[[noreturn]] void throw_length(std::size_t expected, std::size_t got);

// ---- Sorting types into kinds
template <class T>
consteval std::string_view type_name() {
  const std::string_view all = __PRETTY_FUNCTION__;
  const std::size_t begin = all.find("T = ") + 4;
  const std::size_t end = all.find("; std::string_view", begin);  // clang ends with "]" instead
  return all.substr(begin, (end == all.npos ? all.size() - 1 : end) - begin);
}

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {
  using value_type = T;
};

template <class T>
struct is_pointer : std::false_type {};
template <class T, class D>
struct is_pointer<std::unique_ptr<T, D>> : std::true_type {
  using value_type = T;
};
template <class T>
struct is_pointer<std::shared_ptr<T>> : std::true_type {
  using value_type = T;
};

template <class T>
struct is_variant : std::false_type {};
template <class... A>
struct is_variant<std::variant<A...>> : std::true_type {};

template <class T>
struct is_tuple : std::false_type {};
template <class... A>
struct is_tuple<std::tuple<A...>> : std::true_type {};
template <class A, class B>
struct is_tuple<std::pair<A, B>> : std::true_type {};

template <class T>
struct is_std_array : std::false_type {};
template <class T, std::size_t N>
struct is_std_array<std::array<T, N>> : std::true_type {};

template <class T>
concept has_json_as = requires { typename json_as<T>::type; };
template <class T>
concept has_hand_fields = requires(T* p) { pgflow_fields(p); };
template <class T>
concept has_object_table = requires(std::size_t& n) { T::pgflow_table(n); };
template <class T>
concept map_like = requires {
  typename T::key_type;
  typename T::mapped_type;
};
template <class T>
concept sequence_like = !map_like<T> && requires(T c) {
  typename T::value_type;
  c.begin();
  c.end();
  c.clear();
};
template <class T>
concept array_type = sequence_like<T> || is_std_array<T>::value;
template <class T>
concept reflectable = std::is_aggregate_v<T> && std::is_class_v<T> && !is_std_array<T>::value;
template <class T>
concept json_leaf =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, Json> || std::is_same_v<T, std::monostate>;

// ---- The first type inside T that has no JSON form, for the compiler's message
struct no_offender {};
template <class T>
struct offender {
  using type = T;
};

template <class T, class... Seen>
consteval auto offending();

template <class... Seen>
consteval auto first_offending(types<>) {
  return no_offender{};
}
template <class... Seen, class T, class... Rest>
consteval auto first_offending(types<T, Rest...>) {
  using Found = decltype(offending<T, Seen...>());
  if constexpr (std::is_same_v<Found, no_offender>) {
    return first_offending<Seen...>(types<Rest...>{});
  } else {
    return Found{};
  }
}

template <class T>
struct parts_of;
template <template <class...> class C, class... A>
struct parts_of<C<A...>> {
  using type = types<A...>;
};

template <class T, class... Seen>
consteval auto offending() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return no_offender{};
  } else if constexpr (has_json_as<T> || has_hand_fields<T> || has_object_table<T> ||
                       json_leaf<T>) {
    return no_offender{};
  } else if constexpr (is_optional<T>::value) {
    return offending<typename is_optional<T>::value_type, T, Seen...>();
  } else if constexpr (is_pointer<T>::value) {
    return offending<typename is_pointer<T>::value_type, T, Seen...>();
  } else if constexpr (map_like<T>) {
    return offending<typename T::mapped_type, T, Seen...>();
  } else if constexpr (array_type<T>) {
    return offending<typename T::value_type, T, Seen...>();
  } else if constexpr (is_variant<T>::value || is_tuple<T>::value) {
    return first_offending<T, Seen...>(typename parts_of<T>::type{});
  } else if constexpr (reflectable<T>) {
    return first_offending<T, Seen...>(reflect::member_types<T>{});
  } else {
    return offender<T>{};
  }
}

// ---- Enumerators
template <class E, E... V>
consteval std::string_view enum_text() {
  return __PRETTY_FUNCTION__;
}

template <class E>
consteval std::string_view enum_list_text() {
  constexpr int low = enum_range<E>::min;
  constexpr int count = enum_range<E>::max - low + 1;
  return []<int... I>(std::integer_sequence<int, I...>) {
    return enum_text<E, static_cast<E>(low + I)...>();
  }(std::make_integer_sequence<int, count>{});
}

struct EnumTable {
  std::array<EnumValue, 64> entries{};
  std::size_t count = 0;
};

// Names for the whole range come from one instantiation (one a value would be slow):
// "… [with E = X; E ...V = {X::a, X::b, (X)2, …}; …]", clang "<X::a, X::b, …>]".
template <class E>
consteval EnumTable make_enum_table() {
  static_assert(enum_range<E>::max - enum_range<E>::min < 64);
  constexpr std::string_view all = enum_list_text<E>();
  constexpr std::size_t begin = all.find("V = ") + 5;
  constexpr std::size_t end = all[begin - 1] == '{' ? all.find('}', begin) : all.rfind(">]");
  constexpr std::string_view list = all.substr(begin, end - begin);
  EnumTable table;
  int value = enum_range<E>::min;
  for (std::size_t at = 0; at < list.size(); ++value) {
    const std::size_t comma = list.find(", ", at);
    const std::size_t stop = comma == list.npos ? list.size() : comma;
    const std::string_view item = list.substr(at, stop - at);
    if (item.find('(') == item.npos) {  // "(X)2": no enumerator has this value
      const std::size_t colon = item.rfind(':');
      table.entries[table.count++] = {value, colon == item.npos ? item : item.substr(colon + 1)};
    }
    at = stop + 2;
  }
  return table;
}
template <class E>
inline constexpr EnumTable enum_table = make_enum_table<E>();

template <class E>
const EnumValue* enum_values(std::size_t& count) {
  if constexpr (!std::is_same_v<std::remove_const_t<decltype(enum_names<E>)>, std::nullptr_t>) {
    count = enum_names<E>.entries.size();
    return enum_names<E>.entries.data();
  } else {
    count = enum_table<E>.count;
    return enum_table<E>.entries.data();
  }
}

// ---- Members

// Room for a T that is never alive: only the offsets of its members are taken.
template <class T>
struct storage {
  union {
    T value;
  };
  storage() {}
  ~storage() {}
};
template <class T, class M>
std::size_t offset_of(const storage<T>& s, const M& member) {
  return static_cast<std::size_t>(
      reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&s.value)
  );
}

template <class T>
std::string_view key_of(std::string_view member) {
  if constexpr (!std::is_same_v<std::remove_const_t<decltype(json_keys<T>)>, std::nullptr_t>) {
    for (const auto& [name, key] : json_keys<T>.entries) {
      if (name == member) {
        return key;
      }
    }
  }
  return member;
}

template <class T>
const FieldInfo* aggregate_fields(std::size_t& count) {
  static constexpr std::size_t n = reflect::field_count<T>;
  static const std::array<FieldInfo, n> table = [] {
    static storage<T> room;
    std::array<FieldInfo, n> made{};
    [[maybe_unused]] std::size_t i = 0;
    reflect::fields(room.value, [&]<class... F>(F&... f) {
      ((made[i] =
            FieldInfo{key_of<T>(reflect::field_names<T>[i]), offset_of(room, f), &type_info<F>},
        ++i),
       ...);
    });
    return made;
  }();
  count = n;
  return table.data();
}

template <class T>
const FieldInfo* hand_fields(std::size_t& count) {
  static const auto table = [] {
    static storage<T> room;
    return std::apply(
        [&](auto... f) {
          return std::array{
              FieldInfo{f.name, offset_of(room, room.value.*(f.member)), &type_info<std::remove_reference_t<decltype(room.value.*(f.member))>>}...
          };
        },
        pgflow_fields(static_cast<T*>(nullptr))
    );
  }();
  count = table.size();
  return table.data();
}

template <class T>
const FieldInfo* tuple_fields(std::size_t& count) {
  static constexpr std::size_t n = std::tuple_size_v<T>;
  static const std::array<FieldInfo, n> table = [] {
    static storage<T> room;
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<FieldInfo, n>{
          FieldInfo{{}, offset_of(room, std::get<I>(room.value)), &type_info<std::tuple_element_t<I, T>>}...
      };
    }(std::make_index_sequence<n>{});
  }();
  count = n;
  return table.data();
}

// ---- Building one table

// Built-in types get names of our own (compilers spell them differently), the user's keep theirs.
template <class T>
constexpr std::string_view readable_name() {
  if constexpr (std::is_same_v<T, bool>) {
    return "boolean";
  } else if constexpr (std::is_integral_v<T>) {
    constexpr std::string_view signed_names[] = {"int8", "int16", "int32", "int64"};
    constexpr std::string_view unsigned_names[] = {"uint8", "uint16", "uint32", "uint64"};
    constexpr std::size_t i = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? signed_names[i] : unsigned_names[i];
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == sizeof(float) ? "float" : "double";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "string";
  } else {
    return type_name<T>();
  }
}

template <class T>
void describe_via(TypeInfo& t) {
  using As = json_as<T>;
  using V = typename As::type;
  t.kind = Kind::via;
  t.element = &type_info<V>;
  if constexpr (requires { As::format; }) {
    t.format = As::format;
  }
  t.via_decode = [](void* out, void (*decode_into)(void*, void*), void* state) {
    V temporary{};
    decode_into(state, &temporary);
    *static_cast<T*>(out) = As::from(std::move(temporary));
  };
  t.via_encode = [](const void* in, void* state, Visit visit) {
    const V temporary = As::to(*static_cast<const T*>(in));
    visit(state, &temporary);
  };
}

template <class T>
void describe_optional(TypeInfo& t) {
  t.kind = Kind::optional;
  t.clear = [](void* p) { static_cast<T*>(p)->reset(); };
  if constexpr (is_optional<T>::value) {
    t.element = &type_info<typename T::value_type>;
    t.emplace = [](void* p, std::string_view, std::size_t) -> void* {
      return &static_cast<T*>(p)->emplace();
    };
    t.get = [](const void* p) -> const void* {
      const T& o = *static_cast<const T*>(p);
      return o ? &*o : nullptr;
    };
  } else {
    using V = typename is_pointer<T>::value_type;
    t.element = &type_info<V>;
    t.emplace = [](void* p, std::string_view, std::size_t) -> void* {
      T& o = *static_cast<T*>(p);
      o.reset(new V{});
      return o.get();
    };
    t.get = [](const void* p) -> const void* { return static_cast<const T*>(p)->get(); };
  }
}

template <class T, class... A>
void describe_variant(TypeInfo& t, std::variant<A...>*) {
  t.kind = Kind::variant;
  t.tag = json_tag<T>;
  t.alternatives = [](std::size_t& n) -> const TypeRef* {
    static constexpr TypeRef list[] = {&type_info<A>...};
    n = sizeof...(A);
    return list;
  };
  t.emplace = [](void* p, std::string_view, std::size_t wanted) -> void* {
    void* made = nullptr;
    std::size_t i = 0;
    ((i++ == wanted ? void(made = &static_cast<T*>(p)->template emplace<A>()) : void()), ...);
    return made;
  };
  t.index = [](const void* p) { return static_cast<const T*>(p)->index(); };
  t.get = [](const void* p) -> const void* {
    return std::visit([](const auto& v) -> const void* { return &v; }, *static_cast<const T*>(p));
  };
}

template <class T>
void describe_map(TypeInfo& t) {
  using K = typename T::key_type;
  t.kind = Kind::map;
  t.element = &type_info<typename T::mapped_type>;
  t.clear = [](void* p) { static_cast<T*>(p)->clear(); };
  t.emplace = [](void* p, std::string_view key, std::size_t) -> void* {
    T& map = *static_cast<T*>(p);
    if constexpr (std::is_same_v<K, std::string>) {
      return &map[std::string(key)];
    } else {
      K decoded{};
      const std::string text =
          std::is_enum_v<K> ? "\"" + std::string(key) + "\"" : std::string(key);
      decode(type_info<K>(), &decoded, text);
      return &map[decoded];
    }
  };
  t.each_pair = [](const void* p, void* state, VisitPair visit) {
    for (const auto& [key, value] : *static_cast<const T*>(p)) {
      if constexpr (std::is_same_v<K, std::string>) {
        visit(state, key, &value);
      } else {
        visit(state, key_to_string(type_info<K>(), &key), &value);
      }
    }
  };
}

template <class T>
void describe_sequence(TypeInfo& t) {
  using V = typename T::value_type;
  t.kind = Kind::sequence;
  t.element = &type_info<V>;
  if constexpr (is_std_array<T>::value) {
    t.clear = [](void*) {};
    t.emplace = [](void* p, std::string_view, std::size_t i) -> void* {
      T& a = *static_cast<T*>(p);
      return i < a.size() ? &a[i] : nullptr;
    };
    t.finish = [](void*, std::size_t count) {
      if (count != std::tuple_size_v<T>) {
        throw_length(std::tuple_size_v<T>, count);
      }
    };
  } else {
    t.clear = [](void* p) { static_cast<T*>(p)->clear(); };
    if constexpr (requires(T c) {
                    { c.emplace_back() } -> std::same_as<V&>;
                  }) {
      t.emplace = [](void* p, std::string_view, std::size_t) -> void* {
        return &static_cast<T*>(p)->emplace_back();
      };
    } else {  // sets, vector<bool>
      t.via_decode = [](void* out, void (*decode_into)(void*, void*), void* state) {
        V temporary{};
        decode_into(state, &temporary);
        T& c = *static_cast<T*>(out);
        c.insert(c.end(), std::move(temporary));
      };
    }
  }
  t.each = [](const void* p, void* state, Visit visit) {
    for (auto&& element : *static_cast<const T*>(p)) {
      const V& reference = element;
      visit(state, &reference);
    }
  };
}

template <class T>
void describe_object(TypeInfo& t) {
  t.kind = Kind::object;
  if constexpr (has_object_table<T>) {
    t.fields = &T::pgflow_table;
    t.name = T::pgflow_name;
  } else if constexpr (has_hand_fields<T>) {
    t.fields = &hand_fields<T>;
  } else {
    t.fields = &aggregate_fields<T>;
  }
  t.strict = json_strict<T>;
}

template <class T>
TypeInfo make_type_info() {
  TypeInfo t{};
  t.name = readable_name<T>();
  if constexpr (has_json_as<T>) {
    describe_via<T>(t);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
    t.kind = Kind::null;
  } else if constexpr (std::is_same_v<T, bool>) {
    t.kind = Kind::boolean;
  } else if constexpr (std::is_same_v<T, std::string>) {
    t.kind = Kind::string;
  } else if constexpr (std::is_same_v<T, Json>) {
    t.kind = Kind::raw;
  } else if constexpr (std::is_enum_v<T>) {
    t.kind = Kind::enumeration;
    t.size = sizeof(T);
    t.values = &enum_values<T>;
  } else if constexpr (std::is_floating_point_v<T>) {
    t.kind = Kind::real;
    t.size = sizeof(T);
  } else if constexpr (std::is_integral_v<T>) {
    t.kind = std::is_signed_v<T> ? Kind::integer : Kind::unsigned_integer;
    t.size = sizeof(T);
  } else if constexpr (is_optional<T>::value || is_pointer<T>::value) {
    describe_optional<T>(t);
  } else if constexpr (is_variant<T>::value) {
    describe_variant<T>(t, static_cast<T*>(nullptr));
  } else if constexpr (is_tuple<T>::value) {
    t.kind = Kind::tuple;
    t.fields = &tuple_fields<T>;
  } else if constexpr (map_like<T>) {
    describe_map<T>(t);
  } else if constexpr (array_type<T>) {
    describe_sequence<T>(t);
  } else {
    describe_object<T>(t);
  }
  return t;
}

template <class T>
const TypeInfo& type_info() {
  static const TypeInfo info = make_type_info<T>();
  return info;
}

}  // namespace pgflow::detail
