// PGFLOW_FIELDS: JSON members by hand, for private members, base classes, more than 48 members, or
// clang before 18.
//
//   class Hidden {
//     int secret_ = 0;
//     std::string kind_;
//    public:
//     PGFLOW_FIELDS(Hidden, (secret_, "secret"), (kind_, "kind"))
//   };
#pragma once

#include <string_view>
#include <tuple>

#include <pgflow/json.hpp>

namespace pgflow::detail {

template <class C, class M>
struct hand_field {
  std::string_view name;
  M C::* member;
};

}  // namespace pgflow::detail

// The JSON members of T, written inside its body: names, or (name, "key").
#define PGFLOW_FIELDS(T, ...)                       \
  friend auto pgflow_fields(T*) {                   \
    return std::tuple{PGFLOW_EACH(T, __VA_ARGS__)}; \
  }

// A member is written as `name_` or `(name_, "key")`; the probe tells which.
// clang-format off
#define PGFLOW_FIELD(T, f) PGFLOW_FIELD_PICK(PGFLOW_PROBE f)(T, f)
#define PGFLOW_PROBE(a, b) ~, PGFLOW_FIELD_NAMED
#define PGFLOW_FIELD_PICK(...) PGFLOW_FIELD_PICK1(__VA_ARGS__, PGFLOW_FIELD_PLAIN, ~)
#define PGFLOW_FIELD_PICK1(a, b, ...) b
#define PGFLOW_FIELD_PLAIN(T, f)                    \
  ::pgflow::detail::hand_field<T, decltype(T::f)> { \
    #f, &T::f                                       \
  }
#define PGFLOW_FIELD_NAMED(T, f) PGFLOW_FIELD_NAMED1(T, PGFLOW_UNWRAP f)
#define PGFLOW_FIELD_NAMED1(...) PGFLOW_FIELD_NAMED2(__VA_ARGS__)
#define PGFLOW_FIELD_NAMED2(T, m, n)                \
  ::pgflow::detail::hand_field<T, decltype(T::m)> { \
    n, &T::m                                        \
  }
#define PGFLOW_UNWRAP(...) __VA_ARGS__

// One PGFLOW_FIELD for each argument, up to 256 of them.
#define PGFLOW_PARENS ()
#define PGFLOW_EXPAND(...) \
  PGFLOW_EXPAND3(PGFLOW_EXPAND3(PGFLOW_EXPAND3(PGFLOW_EXPAND3(__VA_ARGS__))))
#define PGFLOW_EXPAND3(...) \
  PGFLOW_EXPAND2(PGFLOW_EXPAND2(PGFLOW_EXPAND2(PGFLOW_EXPAND2(__VA_ARGS__))))
#define PGFLOW_EXPAND2(...) \
  PGFLOW_EXPAND1(PGFLOW_EXPAND1(PGFLOW_EXPAND1(PGFLOW_EXPAND1(__VA_ARGS__))))
#define PGFLOW_EXPAND1(...) __VA_ARGS__
#define PGFLOW_EACH(T, ...) __VA_OPT__(PGFLOW_EXPAND(PGFLOW_EACH1(T, __VA_ARGS__)))
#define PGFLOW_EACH1(T, f, ...) \
  PGFLOW_FIELD(T, f) __VA_OPT__(, PGFLOW_EACH2 PGFLOW_PARENS(T, __VA_ARGS__))
#define PGFLOW_EACH2() PGFLOW_EACH1
// clang-format on
