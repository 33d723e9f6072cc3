// What the compiler says when a flow is wrong: one struct a mistake, one message each.
//
// A failed check names diagnosis<facts…>::ok. The compiler then prints the facts ("In instantiation
// of …") and the static_assert's text. Each check is a consteval function template whose own
// parameters the facts depend on: clang would instantiate the diagnosis early otherwise, and the
// chain of "required from" lines stays short.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <pgflow/ids.hpp>

namespace pgflow {

template <class...>
inline constexpr bool always_false = false;

namespace diag {

// ---- Facts, to be read in the compiler's output
template <fixed_string S>
struct in_step {};
template <fixed_string S>
struct unknown {};
template <fixed_string S>
struct did_you_mean {};
struct no_similar_name {};
template <fixed_string... S>
struct known_steps {};
template <class... T>
struct expected {};
template <class... T>
struct got {};
template <class T>
struct type {};
template <std::size_t N>
struct readable_length {};
template <std::size_t N>
struct fallback_length {};
template <std::size_t N>
struct index {};

// Output type of a step that failed to compile: silences everything that depends on it.
struct poison {};

template <fixed_string Given, fixed_string... Known>
consteval std::size_t nearest() {
  std::size_t best = sizeof...(Known), shortest = std::string_view::npos, i = 0;
  ((edit_distance(Given.view(), Known.view()) < shortest
        ? (shortest = edit_distance(Given.view(), Known.view()), best = i)
        : 0,
    ++i),
   ...);
  return worth_suggesting(shortest, Given.view().size()) ? best : sizeof...(Known);
}

template <std::size_t N>
consteval no_similar_name nth_name(slugs<>) {
  return {};
}
template <std::size_t N, fixed_string S, fixed_string... Rest>
consteval auto nth_name(slugs<S, Rest...>) {
  if constexpr (N == 0) {
    return did_you_mean<S>{};
  } else {
    return nth_name<N - 1>(slugs<Rest...>{});
  }
}

// did_you_mean<"classify"> or no_similar_name.
template <fixed_string Given, fixed_string... Known>
using suggestion = decltype(nth_name<nearest<Given, Known...>()>(slugs<Known...>{}));

// ---- Slugs
template <class... Facts>
struct bad_slug_empty {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: a slug cannot be empty");
};

template <class... Facts>
struct bad_slug_too_long {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: a slug has at most 128 characters");
};

template <class... Facts>
struct bad_slug_reserved {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: the slug \"run\" is reserved");
};

template <class... Facts>
struct bad_slug_leading_digit {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: a slug cannot start with a digit");
};

template <class... Facts>
struct bad_slug_character {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>, "pgflow: a slug has only letters, digits and single underscores"
  );
};

template <class... Facts>
struct bad_slug_leading_underscore {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: a slug cannot start with an underscore");
};

template <class... Facts>
struct bad_slug_trailing_underscore {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: a slug cannot end with an underscore");
};

template <class... Facts>
struct bad_slug_double_underscore {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: a slug cannot contain \"__\": it is reserved for generated queue names"
  );
};

// ---- Steps and their arguments
template <class... Facts>
struct duplicate_step {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: this flow already has a step of that name (slugs are compared without case)"
  );
};

template <class... Facts>
struct dependency_not_found {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: depends_on / over names a step that is not defined before this one"
  );
};

template <class... Facts>
struct dependency_twice {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: depends_on names the same step twice");
};

template <class... Facts>
struct unknown_argument {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: a step takes its options in braces first, then depends_on or over, run_if, "
      "run_if_not, when_unmet, when_exhausted, and the handler last"
  );
};

template <class... Facts>
struct argument_twice {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: the same kind of argument is given twice");
};

template <class... Facts>
struct no_handler {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: the last argument must be the handler");
};

// ---- Arrays and maps
template <class... Facts>
struct map_takes_over {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: .map() takes over<\"step\">, not depends_on: it reads exactly one array"
  );
};

template <class... Facts>
struct only_map_takes_over {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>, "pgflow: over<\"step\"> belongs to .map(); use depends_on<\"step\">"
  );
};

template <class... Facts>
struct map_needs_array {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: .map() needs an array: the step named by over<> (or the flow input) does not "
      "produce one"
  );
};

template <class... Facts>
struct array_needs_array {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: the handler of .array() must return an array type such as std::vector"
  );
};

// ---- Conditions
template <class... Facts>
struct when_unmet_without_condition {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: when_unmet needs run_if or run_if_not");
};

template <class... Facts>
struct condition_on_input {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: input(...) conditions are for root steps; a dependent step's condition sees only "
      "its dependencies: use output<\"step\">(...)"
  );
};

template <class... Facts>
struct condition_on_output {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: output<\"step\">(...) names a step that this step does not depend on"
  );
};

template <class... Facts>
struct condition_type {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: the member in this condition does not belong to the value it is checked against"
  );
};

template <class... Facts>
struct condition_value {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: the value in this condition does not have the type it is compared with"
  );
};

template <class... Facts>
struct present_on_scalar {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: present() works for object and array outputs only: no jsonb pattern matches every "
      "scalar"
  );
};

template <class... Facts>
struct item_outside_contains {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: item(...) belongs inside contains(...)");
};

// ---- Handlers
template <class... Facts>
struct input_parameter {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: the handler's first parameter must take the step's input (see expected and got "
      "above)"
  );
};

template <class... Facts>
struct dependency_parameters {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: the handler's leading parameters must take the dependencies' outputs in depends_on "
      "order, or one struct with a member per dependency"
  );
};

template <class... Facts>
struct dependency_member {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: this member of the handler's input struct is no dependency of the step, or its type "
      "differs (a dependency that may be skipped needs std::optional)"
  );
};

template <class... Facts>
struct resource_by_value {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: a handler takes resources by reference");
};

template <class... Facts>
struct flow_input_type {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: FlowInput<T> must name the flow's input type");
};

template <class... Facts>
struct generic_parameters {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: a handler with auto parameters is called as (input) or (input, Context&); spell the "
      "types to ask for more"
  );
};

template <class... Facts>
struct mutable_handler {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: handlers run on several threads at once: a mutable lambda or a non-const operator() "
      "is not accepted"
  );
};

template <class... Facts>
struct no_json_form {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: this type has no JSON form: give it public members of JSON types, PGFLOW_FIELDS, or "
      "json_as<T>"
  );
};

template <class... Facts>
struct dependency_unknown_in_handler {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: in[\"...\"_step] names a step that this step does not depend on"
  );
};

// ---- Step queues
template <class... Facts>
struct flow_slug_too_long {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: the flow slug is too long for per-step queues: even <flow>__0 exceeds 47 "
      "characters. Shorten it or use the default single queue"
  );
};

template <class... Facts>
struct step_queue_too_long {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: no queue name fits 47 characters for this step: shorten the flow slug or the step "
      "slug, or use the default single queue"
  );
};

template <class... Facts>
struct no_steps {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>, "pgflow: with_step_queues needs a flow with at least one step"
  );
};

// ---- Workers
template <class... Facts>
struct plain_flow_takes_no_step {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: a plain flow's worker takes no step: wrap the flow in with_step_queues()"
  );
};

template <class... Facts>
struct step_is_required {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: a step-queued flow's worker needs a step: EdgeWorker::start(queued, step<\"...\">, "
      "{...})"
  );
};

template <class... Facts>
struct no_such_step {
  static constexpr bool ok = false;
  static_assert(always_false<Facts...>, "pgflow: this flow has no such step");
};

template <class... Facts>
struct resource_not_provided {
  static constexpr bool ok = false;
  static_assert(
      always_false<Facts...>,
      "pgflow: a step needs a resource that this platform does not provide: pass resource(x) or "
      "each_thread<T>(make)"
  );
};

}  // namespace diag
}  // namespace pgflow
