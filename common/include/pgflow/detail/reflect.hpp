// A plain aggregate's members (count, names, types), as the compiler knows them; no macro, no
// registration.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pgflow/ids.hpp>

namespace pgflow::reflect {

inline constexpr std::size_t kMaxFields = 48;

// Converts to anything, in unevaluated code only.
struct any {
  template <class T>
  operator T() const noexcept;
};

template <class T, std::size_t... I>
constexpr bool constructible_with(std::index_sequence<I...>) {
  return requires { T{((void)I, any{})...}; };
}

// Counted downwards, so that a type whose later members have no default still counts right.
template <class T, std::size_t N = kMaxFields>
constexpr std::size_t count_fields() {
  if constexpr (constructible_with<T>(std::make_index_sequence<N>{})) {
    return N;
  } else if constexpr (N == 0) {
    return 0;
  } else {
    return count_fields<T, N - 1>();
  }
}
template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

// A structured binding cannot be a pack in C++20, so there is one for each number of members.
// clang-format off
#define PGFLOW_BIND(n, ...) \
  else if constexpr (N == n) { auto& [__VA_ARGS__] = object; return f(__VA_ARGS__); }
template <std::size_t N, class T, class F>
constexpr decltype(auto) bind([[maybe_unused]] T& object, F&& f) {
  if constexpr (N == 0) { return f(); }
  PGFLOW_BIND(1, a0)
  PGFLOW_BIND(2, a0, a1)
  PGFLOW_BIND(3, a0, a1, a2)
  PGFLOW_BIND(4, a0, a1, a2, a3)
  PGFLOW_BIND(5, a0, a1, a2, a3, a4)
  PGFLOW_BIND(6, a0, a1, a2, a3, a4, a5)
  PGFLOW_BIND(7, a0, a1, a2, a3, a4, a5, a6)
  PGFLOW_BIND(8, a0, a1, a2, a3, a4, a5, a6, a7)
  PGFLOW_BIND(9, a0, a1, a2, a3, a4, a5, a6, a7, a8)
  PGFLOW_BIND(10, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)
  PGFLOW_BIND(11, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0)
  PGFLOW_BIND(12, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1)
  PGFLOW_BIND(13, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2)
  PGFLOW_BIND(14, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3)
  PGFLOW_BIND(15, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4)
  PGFLOW_BIND(16, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5)
  PGFLOW_BIND(17, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6)
  PGFLOW_BIND(18, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7)
  PGFLOW_BIND(19, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8)
  PGFLOW_BIND(20, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9)
  PGFLOW_BIND(21, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0)
  PGFLOW_BIND(22, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1)
  PGFLOW_BIND(23, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2)
  PGFLOW_BIND(24, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3)
  PGFLOW_BIND(25, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4)
  PGFLOW_BIND(26, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5)
  PGFLOW_BIND(27, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6)
  PGFLOW_BIND(28, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7)
  PGFLOW_BIND(29, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8)
  PGFLOW_BIND(30, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9)
  PGFLOW_BIND(31, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0)
  PGFLOW_BIND(32, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1)
  PGFLOW_BIND(33, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2)
  PGFLOW_BIND(34, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3)
  PGFLOW_BIND(35, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4)
  PGFLOW_BIND(36, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5)
  PGFLOW_BIND(37, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6)
  PGFLOW_BIND(38, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7)
  PGFLOW_BIND(39, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8)
  PGFLOW_BIND(40, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9)
  PGFLOW_BIND(41, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0)
  PGFLOW_BIND(42, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1)
  PGFLOW_BIND(43, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2)
  PGFLOW_BIND(44, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3)
  PGFLOW_BIND(45, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3,
              e4)
  PGFLOW_BIND(46, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3,
              e4, e5)
  PGFLOW_BIND(47, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3,
              e4, e5, e6)
  PGFLOW_BIND(48, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
              c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3,
              e4, e5, e6, e7)
}
#undef PGFLOW_BIND
// clang-format on

template <class T, class F>
constexpr decltype(auto) fields(T& object, F&& f) {
  return bind<field_count<std::remove_const_t<T>>>(object, f);
}

// Never defined: only addresses inside it are formed, inside constant evaluation. At -O0 any other
// use wants a symbol.
template <class T>
struct holder {
  T value;
};
template <class T>
extern const holder<T> phantom;

// g++ prints "… pointer_text() [with auto Pointer = (& …X::name); std::string_view = …]": the alias
// list is cut off.
template <auto Pointer>
consteval std::string_view pointer_text() {
  const std::string_view all = __PRETTY_FUNCTION__;
  const std::size_t cut = all.rfind("; std::string_view = ");
  return cut == all.npos ? all : all.substr(0, cut);
}

consteval bool identifier_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The last identifier of "… (& phantom<X>.holder<X>::value.X::name)]" or "… = &X::name]".
consteval std::string_view last_name(std::string_view text) {
  std::size_t end = text.size() - 1;
  while (end > 0 && !identifier_character(text[end - 1])) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && identifier_character(text[begin - 1])) {
    --begin;
  }
  return text.substr(begin, end - begin);
}

template <class T>
consteval auto field_pointers() {
  return fields(phantom<T>.value, [](auto&... field) { return std::tuple(&field...); });
}

template <class T>
consteval auto make_field_names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] constexpr auto pointers = field_pointers<T>();
    return std::array<std::string_view, sizeof...(I)>{last_name(pointer_text<std::get<I>(pointers)>(
    ))...};
  }(std::make_index_sequence<field_count<T>>{});
}
template <class T>
inline constexpr auto field_names = make_field_names<T>();

template <class T>
consteval auto make_member_types() {
  return fields(phantom<T>.value, []<class... F>(F&...) {
    return types<std::remove_const_t<F>...>{};
  });
}
template <class T>
using member_types = decltype(make_member_types<T>());

}  // namespace pgflow::reflect
