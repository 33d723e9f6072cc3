// Typed jsonb patterns for run_if and run_if_not: member pointers, ==, contains, present and &&.
//
//   run_if(output<"classify">(&Classified::route) == Route::help) {"classify":{"route":"help"}}
//   run_if(input(&Order::user, &User::plan) == Plan::premium)           {"user":{"plan":"premium"}}
//   run_if(output<"rows">().contains(item(&Row::active) == true))       {"rows":[{"active":true}]}
//   run_if_not(output<"primary">().present())                           the step was skipped
//
// PostgreSQL evaluates `value @> pattern`, hence no other operators: what is no containment does
// not compile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/detail/diagnosis.hpp>
#include <pgflow/json.hpp>

namespace pgflow {

namespace detail {

// A pattern under construction.
struct PatternNode {
  std::string leaf;               // JSON text; "" for an inner node
  std::vector<std::string> keys;  // same order as children
  std::vector<PatternNode> children;
  std::string text() const;
};

// Puts both patterns into one. PatternError when they want different values at one place.
void merge(PatternNode& into, PatternNode from);
// The leaf below this path of keys.
PatternNode nest(const std::vector<std::string>& path, PatternNode leaf);
// The JSON key of the member at this offset. PatternError when it has none.
std::string_view field_at(const TypeInfo&, std::size_t offset);

template <class T, class C, class M>
std::string_view member_name(M C::* member) {
  static storage<T> room;
  return field_at(type_info<T>(), offset_of(room, static_cast<const T&>(room.value).*member));
}

template <class T>
struct unwrapped {
  using type = T;
};
template <class T>
struct unwrapped<std::optional<T>> {
  using type = T;
};
template <class T>
struct unwrapped<std::unique_ptr<T>> {
  using type = T;
};
template <class T>
using unwrapped_t = typename unwrapped<T>::type;

// Where a condition starts.
struct from_input {};
struct from_item {};
template <fixed_string S>
struct from_step {};

// The whole value at the root: its type is known only to the flow.
struct whole {};

// What the flow must still check. Members start at the root's type, which must be Owner.
template <class Root, class Owner>
struct OwnerCheck {};
// The root as a whole is compared with a V; contains a list of V (types<V…>); or is present
// (whole).
template <class Root, class V>
struct WholeCheck {};

template <class... Checks>
struct Condition {
  PatternNode pattern;
};

template <class T>
struct is_condition : std::false_type {};
template <class... C>
struct is_condition<Condition<C...>> : std::true_type {};

template <class... A, class... B>
Condition<A..., B...> operator&&(Condition<A...> a, Condition<B...> b) {
  merge(a.pattern, std::move(b.pattern));
  return {std::move(a.pattern)};
}
template <class... A, class... B>
Condition<> operator||(Condition<A...>, Condition<B...>) {
  static_assert(
      always_false<Condition<A...>>,
      "pgflow: conditions are jsonb containment patterns: only && can join them. "
      "Use two steps, or compute a flag in an earlier step"
  );
  return {};
}

template <class E, class V>
inline constexpr bool element_value_ok = is_condition<V>::value || std::is_convertible_v<V, E>;

template <class V>
std::string json_of(const V& value) {
  if constexpr (std::is_convertible_v<V, std::string_view>) {
    return to_json(std::string(std::string_view(value)));
  } else {
    return to_json(value);
  }
}

// One argument of contains(): E is the element type, or `whole` while it is unknown.
template <class E, class V>
std::string element_text(const V& value) {
  if constexpr (is_condition<V>::value) {
    return value.pattern.text();
  } else if constexpr (std::is_same_v<E, whole>) {
    return json_of(value);
  } else {
    return to_json(static_cast<E>(value));
  }
}
template <class E, class... V>
std::string list_text(const V&... values) {
  std::string list;
  ((list += (list.empty() ? "" : ",") + element_text<E>(values)), ...);
  return "[" + list + "]";
}

// A place in the checked value: Owner is the class of the first member, T the type at the place;
// both are `whole` for the root itself. The operators are unconstrained and check inside: a
// constrained == would make the compiler list every == in sight.
template <class Root, class Owner, class T>
class Place {
 public:
  explicit Place(std::vector<std::string> path) : path_(std::move(path)) {}

  template <class V>
  friend auto operator==(const Place& place, const V& value) {
    if constexpr (std::is_same_v<T, whole>) {
      using Stored = std::conditional_t<std::is_convertible_v<V, std::string_view>, std::string, V>;
      return Condition<WholeCheck<Root, Stored>>{place.leaf(json_of(value))};
    } else if constexpr (std::is_convertible_v<V, unwrapped_t<T>>) {
      return Condition<OwnerCheck<Root, Owner>>{
          place.leaf(to_json(static_cast<unwrapped_t<T>>(value)))
      };
    } else {
      static_assert(
          always_false<V>,
          "pgflow: this value cannot be compared with that member (see T and V above)"
      );
      return Condition<>{};
    }
  }
  template <class V>
  friend auto operator!=(const Place&, const V&) {
    static_assert(
        always_false<V>,
        "pgflow: there is no != in a containment pattern: use run_if_not(... == value)"
    );
    return Condition<>{};
  }
  template <class V>
  friend auto operator<(const Place&, const V&) {
    static_assert(
        always_false<V>,
        "pgflow: patterns compare with == only; compute a flag in an earlier step instead"
    );
    return Condition<>{};
  }
  template <class V>
  friend auto operator>(const Place&, const V&) {
    static_assert(
        always_false<V>,
        "pgflow: patterns compare with == only; compute a flag in an earlier step instead"
    );
    return Condition<>{};
  }

  // An array that has an element for each argument: a value, or an item(…) condition.
  template <class... V>
  auto contains(const V&... values) const {
    if constexpr (std::is_same_v<T, whole>) {
      return Condition<WholeCheck<Root, types<V...>>>{leaf(list_text<whole>(values...))};
    } else {
      using E = typename unwrapped_t<T>::value_type;
      if constexpr ((element_value_ok<E, V> && ...)) {
        return Condition<OwnerCheck<Root, Owner>>{leaf(list_text<E>(values...))};
      } else {
        static_assert(
            always_false<V...>,
            "pgflow: contains() needs values of the element type or item(...) conditions"
        );
        return Condition<>{};
      }
    }
  }

  // The step's output is there: a skipped step has none.
  auto present() const {
    static_assert(
        std::is_same_v<T, whole>,
        "pgflow: present() looks at a whole step output: output<\"step\">().present()"
    );
    return Condition<WholeCheck<Root, whole>>{leaf("")};
  }

 private:
  PatternNode leaf(std::string text) const { return nest(path_, {std::move(text), {}, {}}); }

  std::vector<std::string> path_;
};

template <class Root>
std::vector<std::string> root_path(Root*) {
  return {};
}
template <fixed_string S>
std::vector<std::string> root_path(from_step<S>*) {
  return {std::string(S.view())};
}

template <class Root, class Owner, class T, class C, class M, class... Rest>
auto deeper(std::vector<std::string> path, M C::* member, Rest... rest) {
  static_assert(
      std::is_same_v<unwrapped_t<T>, C>,
      "pgflow: the next member does not belong to the type of the previous one"
  );
  path.emplace_back(member_name<C>(member));
  if constexpr (sizeof...(Rest) == 0) {
    return Place<Root, Owner, M>(std::move(path));
  } else {
    return deeper<Root, Owner, M>(std::move(path), rest...);
  }
}

template <class Root>
auto place() {
  return Place<Root, whole, whole>(root_path(static_cast<Root*>(nullptr)));
}
template <class Root, class C, class M, class... Rest>
auto place(M C::* member, Rest... rest) {
  return deeper<Root, C, C>(root_path(static_cast<Root*>(nullptr)), member, rest...);
}

struct RawPattern {
  std::string text;
};

}  // namespace detail

// A dependency's output, or a place in it: output<"classify">(&Classified::route). For steps that
// depend on it.
template <fixed_string Step, class... Members>
auto output(Members... members) {
  return detail::place<detail::from_step<Step>>(members...);
}

// The flow's input, or a place in it: input(&Message::plan). For root steps.
template <class... Members>
auto input(Members... members) {
  return detail::place<detail::from_input>(members...);
}

// An element inside contains(): item(&Row::active) == true.
template <class... Members>
auto item(Members... members) {
  return detail::place<detail::from_item>(members...);
}

// Any jsonb pattern as text. Checked against the types when the flow is built: PatternError with a
// JSON pointer.
inline detail::RawPattern json_pattern(std::string_view text) {
  return {std::string(text)};
}

}  // namespace pgflow
