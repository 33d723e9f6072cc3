// The arguments of one .step() call, sorted; and the checks that need the flow's earlier steps but
// not the handler.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/condition.hpp>
#include <pgflow/detail/condition_check.hpp>
#include <pgflow/detail/diagnosis.hpp>
#include <pgflow/shape.hpp>

namespace pgflow {

template <fixed_string... S>
struct depends_on_t {};
template <fixed_string S>
struct over_t {};
template <SkipMode M>
struct mode_t {};
template <SkipMode M>
struct when_unmet_t {};
template <SkipMode M>
struct when_exhausted_t {};
template <class C>
struct run_if_t {
  C condition;
};
template <class C>
struct run_if_not_t {
  C condition;
};

namespace detail {

enum class Tag { handler, depends_on, over, run_if, run_if_not, when_unmet, when_exhausted };

template <class T>
struct tag_of {
  static constexpr Tag value = Tag::handler;
};
template <fixed_string... S>
struct tag_of<depends_on_t<S...>> {
  static constexpr Tag value = Tag::depends_on;
  using deps = slugs<S...>;
};
template <fixed_string S>
struct tag_of<over_t<S>> {
  static constexpr Tag value = Tag::over;
  using deps = slugs<S>;
};
template <class C>
struct tag_of<run_if_t<C>> {
  static constexpr Tag value = Tag::run_if;
  using condition = C;
};
template <class C>
struct tag_of<run_if_not_t<C>> {
  static constexpr Tag value = Tag::run_if_not;
  using condition = C;
};
template <SkipMode M>
struct tag_of<when_unmet_t<M>> {
  static constexpr Tag value = Tag::when_unmet;
  static constexpr SkipMode mode = M;
};
template <SkipMode M>
struct tag_of<when_exhausted_t<M>> {
  static constexpr Tag value = Tag::when_exhausted;
  static constexpr SkipMode mode = M;
};

template <class... A>
struct last_of;
template <class A>
struct last_of<A> {
  using type = A;
};
template <class A, class B, class... Rest>
struct last_of<A, B, Rest...> : last_of<B, Rest...> {};

// tag_of the argument with tag T, or Default when there is none.
template <Tag T, class Default>
consteval Default find_argument(types<>) {
  return {};
}
template <Tag T, class Default, class A, class... Rest>
consteval auto find_argument(types<A, Rest...>) {
  if constexpr (tag_of<A>::value == T) {
    return tag_of<A>{};
  } else {
    return find_argument<T, Default>(types<Rest...>{});
  }
}

struct no_deps {
  using deps = slugs<>;
};
struct no_condition {
  using condition = Condition<>;
};
template <SkipMode M>
struct default_mode {
  static constexpr SkipMode mode = M;
};

// What the arguments of one .step() say, as types.
template <class... A>
struct Arguments {
  template <Tag T, class Default>
  using find = decltype(find_argument<T, Default>(types<A...>{}));

  static constexpr std::size_t count(Tag tag) {
    return (std::size_t{tag_of<A>::value == tag} + ... + 0);
  }

  using depends_on = typename find<Tag::depends_on, no_deps>::deps;
  using over = typename find<Tag::over, no_deps>::deps;
  using run_if = typename find<Tag::run_if, no_condition>::condition;
  using run_if_not = typename find<Tag::run_if_not, no_condition>::condition;
  static constexpr SkipMode unmet = find<Tag::when_unmet, default_mode<SkipMode::skip>>::mode;
  static constexpr SkipMode exhausted =
      find<Tag::when_exhausted, default_mode<SkipMode::fail>>::mode;
  static constexpr bool has_condition = count(Tag::run_if) + count(Tag::run_if_not) > 0;
  // May dependents run without this step's output? Either way of being skipped is enough.
  static constexpr bool skippable =
      exhausted == SkipMode::skip || (has_condition && unmet == SkipMode::skip);
};

template <fixed_string S>
consteval bool slug_ok() {
  constexpr SlugProblem problem = check_slug(S.view());
  using Got = diag::got<slug_t<S>>;
  if constexpr (problem == SlugProblem::none) {
    return true;
  } else if constexpr (problem == SlugProblem::empty) {
    return diag::bad_slug_empty<Got>::ok;
  } else if constexpr (problem == SlugProblem::too_long) {
    return diag::bad_slug_too_long<Got>::ok;
  } else if constexpr (problem == SlugProblem::reserved) {
    return diag::bad_slug_reserved<Got>::ok;
  } else if constexpr (problem == SlugProblem::leading_digit) {
    return diag::bad_slug_leading_digit<Got>::ok;
  } else if constexpr (problem == SlugProblem::bad_character) {
    return diag::bad_slug_character<Got>::ok;
  } else if constexpr (problem == SlugProblem::leading_underscore) {
    return diag::bad_slug_leading_underscore<Got>::ok;
  } else if constexpr (problem == SlugProblem::trailing_underscore) {
    return diag::bad_slug_trailing_underscore<Got>::ok;
  } else {
    return diag::bad_slug_double_underscore<Got>::ok;
  }
}

// Kinds, numbers and places of the arguments A of step S; F is the last one.
template <fixed_string S, StepKind K, class A, class F, class... Steps>
consteval bool arguments_ok() {
  constexpr auto twice = [](auto... tags) { return ((A::count(tags) > 1) || ...); };
  if constexpr (!slug_ok<S>()) {
    return false;
  } else if constexpr ((same_ignoring_case(Steps::slug.view(), S.view()) || ...)) {
    return diag::duplicate_step<diag::in_step<S>, diag::known_steps<Steps::slug...>>::ok;
  } else if constexpr (A::count(Tag::handler) == 0) {
    return diag::no_handler<diag::in_step<S>>::ok;
  } else if constexpr (A::count(Tag::handler) > 1 || tag_of<F>::value != Tag::handler) {
    return diag::unknown_argument<diag::in_step<S>>::ok;
  } else if constexpr (twice(
                           Tag::depends_on,
                           Tag::over,
                           Tag::run_if,
                           Tag::run_if_not,
                           Tag::when_unmet,
                           Tag::when_exhausted
                       )) {
    return diag::argument_twice<diag::in_step<S>>::ok;
  } else if constexpr (A::count(Tag::when_unmet) == 1 && !A::has_condition) {
    return diag::when_unmet_without_condition<diag::in_step<S>>::ok;
  } else if constexpr (K == StepKind::map && A::count(Tag::depends_on) == 1) {
    return diag::map_takes_over<diag::in_step<S>>::ok;
  } else if constexpr (K != StepKind::map && A::count(Tag::over) == 1) {
    return diag::only_map_takes_over<diag::in_step<S>>::ok;
  } else {
    return true;
  }
}

template <fixed_string S, fixed_string D, class... Steps>
consteval bool dependency_ok() {
  if constexpr (index_of<D, Steps...>() == sizeof...(Steps)) {
    return diag::dependency_not_found<
        diag::in_step<S>,
        diag::unknown<D>,
        diag::suggestion<D, Steps::slug...>,
        diag::known_steps<Steps::slug...>>::ok;
  } else {
    return true;
  }
}

template <fixed_string... D>
consteval bool repeats() {
  const std::string_view list[] = {D.view()..., ""};
  for (std::size_t i = 0; i < sizeof...(D); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (list[i] == list[j]) {
        return true;
      }
    }
  }
  return false;
}

template <fixed_string S, class... Steps, fixed_string... D>
consteval bool dependencies_ok(slugs<D...>) {
  if constexpr (!(dependency_ok<S, D, Steps...>() && ...)) {
    return false;
  } else if constexpr (repeats<D...>()) {
    return diag::dependency_twice<diag::in_step<S>>::ok;
  } else {
    return true;
  }
}

template <fixed_string... S>
std::vector<std::string> slug_list(slugs<S...>) {
  return {std::string(S.view())...};
}

}  // namespace detail
}  // namespace pgflow
