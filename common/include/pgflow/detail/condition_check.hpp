// A step's condition against the types that only the flow knows: its input and its steps' outputs.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <pgflow/condition.hpp>
#include <pgflow/detail/diagnosis.hpp>

namespace pgflow::detail {

template <fixed_string S, class... Steps>
consteval std::size_t index_of() {
  std::size_t i = 0;
  std::size_t found = sizeof...(Steps);
  ((Steps::slug.view() == S.view() ? (found = i, 0) : 0, ++i), ...);
  return found;
}
template <fixed_string S, class... Steps>
using step_named = std::tuple_element_t<index_of<S, Steps...>(), std::tuple<Steps...>>;

template <class T>
inline constexpr bool is_poison = std::is_same_v<T, diag::poison>;

template <class T>
concept json_object = map_like<T> || has_hand_fields<T> || has_object_table<T> ||
                      (reflectable<T> && !std::is_same_v<T, Json> &&
                       !std::is_same_v<T, std::monostate> && !has_json_as<T>);

// ---- The value at the root (type T) against what the condition does with it. In is the step, for
// the message.
template <fixed_string In, class T, class Root, class X>
consteval bool value_ok(OwnerCheck<Root, X>*) {
  using U = unwrapped_t<T>;
  if constexpr (std::is_same_v<U, X> || (std::is_class_v<X> && std::is_base_of_v<X, U>)) {
    return true;
  } else {
    return diag::condition_type<diag::in_step<In>, diag::expected<U>, diag::got<X>>::ok;
  }
}
template <fixed_string In, class T, class Root>
consteval bool value_ok(WholeCheck<Root, whole>*) {
  using U = unwrapped_t<T>;
  if constexpr (array_type<U> || json_object<U>) {
    return true;
  } else {
    return diag::present_on_scalar<diag::in_step<In>, diag::got<U>>::ok;
  }
}
template <fixed_string In, class T, class Root, class... V>
consteval bool value_ok(WholeCheck<Root, types<V...>>*) {
  using U = unwrapped_t<T>;
  if constexpr (!array_type<U>) {
    return diag::condition_value<diag::in_step<In>, diag::expected<U>, diag::got<V...>>::ok;
  } else if constexpr ((element_value_ok<typename U::value_type, V> && ...)) {
    return true;
  } else {
    return diag::condition_value<
        diag::in_step<In>,
        diag::expected<typename U::value_type>,
        diag::got<V...>>::ok;
  }
}
template <fixed_string In, class T, class Root, class X>
consteval bool value_ok(WholeCheck<Root, X>*) {
  using U = unwrapped_t<T>;
  if constexpr (std::is_convertible_v<X, U>) {
    return true;
  } else {
    return diag::condition_value<diag::in_step<In>, diag::expected<U>, diag::got<X>>::ok;
  }
}

// ---- One check, by where it starts. Input is the flow's input, D the step's dependencies.
template <
    fixed_string In,
    class Input,
    template <class, class> class Check,
    class X,
    fixed_string... D,
    class... Steps>
consteval bool check_ok(Check<from_item, X>*, slugs<D...>, types<Steps...>) {
  return diag::item_outside_contains<diag::in_step<In>>::ok;
}
template <
    fixed_string In,
    class Input,
    template <class, class> class Check,
    class X,
    fixed_string... D,
    class... Steps>
consteval bool check_ok(Check<from_input, X>* check, slugs<D...>, types<Steps...>) {
  if constexpr (sizeof...(D) > 0) {
    return diag::condition_on_input<diag::in_step<In>>::ok;
  } else {
    return value_ok<In, Input>(check);
  }
}
template <
    fixed_string In,
    class Input,
    template <class, class> class Check,
    class X,
    fixed_string S,
    fixed_string... D,
    class... Steps>
consteval bool check_ok(Check<from_step<S>, X>* check, slugs<D...>, types<Steps...>) {
  if constexpr (!((S.view() == D.view()) || ...)) {
    return diag::condition_on_output<
        diag::in_step<In>,
        diag::unknown<S>,
        diag::suggestion<S, D...>,
        diag::known_steps<D...>>::ok;
  } else if constexpr (is_poison<typename step_named<S, Steps...>::output>) {
    return true;
  } else {
    return value_ok<In, typename step_named<S, Steps...>::output>(check);
  }
}

template <fixed_string In, class Input, class D, class... Steps, class... C>
consteval bool condition_ok(Condition<C...>*) {
  return (check_ok<In, Input>(static_cast<C*>(nullptr), D{}, types<Steps...>{}) && ...);
}
template <fixed_string In, class Input, class D, class... Steps>
consteval bool condition_ok(RawPattern*) {
  return true;  // its text is checked when the flow is built
}

}  // namespace pgflow::detail
