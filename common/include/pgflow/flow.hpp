// Defining a flow: a typed DAG of steps, checked by the compiler.
//
//   flow<"communityThreadsV1", Message>()
//       .step<"classify">({.max_attempts = 5}, classify)
//       .step<"deliverSlack">(depends_on<"classify">,
//                             run_if(output<"classify">(&Classified::route) == Route::help),
//                             deliver_slack);
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/condition.hpp>
#include <pgflow/detail/condition_check.hpp>
#include <pgflow/detail/handler.hpp>
#include <pgflow/detail/step_arguments.hpp>
#include <pgflow/shape.hpp>

namespace pgflow {

// ---- Arguments of .step(), .array() and .map(): options in braces first (if any), the handler
// last, the rest between them in any order.

// Earlier steps whose outputs are this step's input.
template <fixed_string... S>
inline constexpr depends_on_t<S...> depends_on{};

// The earlier step whose array .map() walks. A map without it walks the flow's input.
template <fixed_string S>
inline constexpr over_t<S> over{};

// Run the step only when the pattern is found in its input (not found, for run_if_not).
template <class... C>
run_if_t<detail::Condition<C...>> run_if(detail::Condition<C...> condition) {
  return {std::move(condition)};
}
// Run the step only when the pattern is not found in its input.
template <class... C>
run_if_not_t<detail::Condition<C...>> run_if_not(detail::Condition<C...> condition) {
  return {std::move(condition)};
}
// The same with json_pattern().
inline run_if_t<detail::RawPattern> run_if(detail::RawPattern pattern) {
  return {std::move(pattern)};
}
// The same with json_pattern().
inline run_if_not_t<detail::RawPattern> run_if_not(detail::RawPattern pattern) {
  return {std::move(pattern)};
}

// fail: the run fails. skip: dependents run without the output, which is optional for them.
// skip_cascade: dependents are skipped too.
// They are functions, so that they can stand beside other functions of these names.
constexpr mode_t<SkipMode::fail> fail() {
  return {};
}
// Dependents run without the output.
constexpr mode_t<SkipMode::skip> skip() {
  return {};
}
// Dependents are skipped too.
constexpr mode_t<SkipMode::skip_cascade> skip_cascade() {
  return {};
}

// When the condition does not hold; skip unless said otherwise: when_unmet(skip_cascade).
template <SkipMode M>
constexpr when_unmet_t<M> when_unmet(mode_t<M> (*)()) {
  return {};
}
// When all attempts have failed; fail unless said otherwise.
template <SkipMode M>
constexpr when_exhausted_t<M> when_exhausted(mode_t<M> (*)()) {
  return {};
}

// ---- The flow's type

template <fixed_string S>
struct static_slug {};
struct dynamic_slug {};

// What dependents, tests and workers must know of a step; the handler's own type is not part of it.
template <fixed_string Slug, class Out, StepKind Kind, bool Skippable, class Needs = types<>>
struct StepInfo {
  static constexpr auto slug = Slug;            // the step
  static constexpr StepKind kind = Kind;        // one task or one for each element
  static constexpr bool skippable = Skippable;  // dependents get an optional
  using output = Out;                           // of the whole step
  using needs = Needs;                          // resource types that its handler asks for
};

namespace detail {
struct flow_access;
}

// A value: .step() leaves it alone and returns a new flow. Copies share one definition; safe to
// read from any thread.
template <class Input, class Slug, class... Steps>
class Flow {
 public:
  using input_type = Input;                              // what a run starts with
  static constexpr std::size_t size = sizeof...(Steps);  // number of steps
  // Output type of a step, as its handler returns it (a vector of that for map steps).
  template <fixed_string S>
  using output_of = typename detail::step_named<S, Steps...>::output;

  // The name in the database.
  const std::string& slug() const { return definition_->slug; }
  // The flow without its types.
  const std::shared_ptr<const FlowDefinition>& definition() const { return definition_; }

  // One task. OptionError and PatternError are thrown here, everything else is a compile error.
  template <fixed_string S, class... A>
  [[nodiscard]] auto step(A&&... arguments) const {
    return add<S, StepKind::single, false>(StepOptions{}, std::forward<A>(arguments)...);
  }
  // The same with options.
  template <fixed_string S, class... A>
  [[nodiscard]] auto step(StepOptions options, A&&... arguments) const {
    return add<S, StepKind::single, false>(options, std::forward<A>(arguments)...);
  }

  // One task whose output is an array, for .map() to walk.
  template <fixed_string S, class... A>
  [[nodiscard]] auto array(A&&... arguments) const {
    return add<S, StepKind::single, true>(StepOptions{}, std::forward<A>(arguments)...);
  }
  // The same with options.
  template <fixed_string S, class... A>
  [[nodiscard]] auto array(StepOptions options, A&&... arguments) const {
    return add<S, StepKind::single, true>(options, std::forward<A>(arguments)...);
  }

  // One task for each element of an array; the output is the array of their outputs.
  template <fixed_string S, class... A>
  [[nodiscard]] auto map(A&&... arguments) const {
    return add<S, StepKind::map, false>(StepOptions{}, std::forward<A>(arguments)...);
  }
  // The same with options.
  template <fixed_string S, class... A>
  [[nodiscard]] auto map(StepOptions options, A&&... arguments) const {
    return add<S, StepKind::map, false>(options, std::forward<A>(arguments)...);
  }

 private:
  template <class, class, class...>
  friend class Flow;
  friend detail::flow_access;

  explicit Flow(std::shared_ptr<const FlowDefinition> definition)
      : definition_(std::move(definition)) {}

  template <fixed_string D>
  using dep_of =
      Dep<D,
          typename detail::step_named<D, Steps...>::output,
          detail::step_named<D, Steps...>::skippable>;

  template <fixed_string S, StepKind K, bool Array, class... A>
  auto add(StepOptions options, A&&... arguments) const {
    using Arguments = detail::Arguments<std::decay_t<A>...>;
    if constexpr (sizeof...(A) == 0) {
      (void)diag::no_handler<diag::in_step<S>>{};
      return poisoned<S, K>();
    } else {
      using F = std::decay_t<typename detail::last_of<A...>::type>;
      using Plan = decltype(plan<S, K, Array, Arguments, F>());
      if constexpr (!Plan::ok) {
        return poisoned<S, K>();
      } else {
        using D = source_slugs<K, Arguments>;
        using Needs = decltype(detail::needs_of(typename Plan::Rest{}));
        using Out = std::
            conditional_t<K == StepKind::map, std::vector<typename Plan::Out>, typename Plan::Out>;
        auto step = detail::new_step(
            S.view(), K, options, detail::slug_list(D{}), Arguments::unmet, Arguments::exhausted
        );
        (store<D>(*step, std::forward<A>(arguments)), ...);
        erase<F, Plan>(*step, typename Plan::Rest{}, Needs{});
        return with<StepInfo<S, Out, K, Arguments::skippable, Needs>>(std::move(step));
      }
    }
  }

  // ---- Compile time: does everything fit? Each mistake prints one diagnosis.
  template <StepKind K, class Arguments>
  using source_slugs = std::
      conditional_t<K == StepKind::map, typename Arguments::over, typename Arguments::depends_on>;

  template <fixed_string S, StepKind K, bool Array, class Arguments, class F>
  static consteval auto plan() {
    using D = source_slugs<K, Arguments>;
    if constexpr (!detail::arguments_ok<S, K, Arguments, F, Steps...>()) {
      return detail::BadPlan{};
    } else if constexpr (!detail::dependencies_ok<S, Steps...>(D{})) {
      return detail::BadPlan{};
    } else if constexpr (any_poison(D{})) {
      return detail::BadPlan{};
    } else if constexpr (!condition_ok<S, D, typename Arguments::run_if>() ||
                         !condition_ok<S, D, typename Arguments::run_if_not>()) {
      return detail::BadPlan{};
    } else {
      using Plan = decltype(plan_handler<S, K, F>(D{}));
      if constexpr (!Plan::ok) {
        return Plan{};
      } else if constexpr (Array && !array_type<typename Plan::Out>) {
        return detail::bad_plan<
            diag::array_needs_array<diag::in_step<S>, diag::got<typename Plan::Out>>::ok>();
      } else {
        return Plan{};
      }
    }
  }

  template <class T>
  static constexpr bool array_type = detail::array_type<T>;

  template <fixed_string... D>
  static consteval bool any_poison(slugs<D...>) {
    return (detail::is_poison<typename detail::step_named<D, Steps...>::output> || ...);
  }

  template <fixed_string S, class D, class C>
  static consteval bool condition_ok() {
    return detail::condition_ok<S, Input, D, Steps...>(static_cast<C*>(nullptr));
  }

  // What a map walks.
  static std::type_identity<Input> source_of(slugs<>);
  template <fixed_string D>
  static std::type_identity<typename detail::step_named<D, Steps...>::output> source_of(slugs<D>);

  template <fixed_string S, StepKind K, class F, fixed_string... D>
  static consteval auto plan_handler(slugs<D...> dependencies) {
    if constexpr (K == StepKind::map) {
      using Source = typename decltype(source_of(dependencies))::type;
      if constexpr (!array_type<Source>) {
        return detail::bad_plan<diag::map_needs_array<diag::in_step<S>, diag::got<Source>>::ok>();
      } else {
        return detail::plan_root<S, Input, typename Source::value_type, F>();
      }
    } else if constexpr (sizeof...(D) == 0) {
      return detail::plan_root<S, Input, Input, F>();
    } else {
      return detail::plan_deps<S, Input, F, dep_of<D>...>();
    }
  }

  // ---- Run time: the same step without its types.
  template <class Info>
  Flow<Input, Slug, Steps..., Info> with(std::shared_ptr<const StepDefinition> step) const {
    auto longer = std::make_shared<FlowDefinition>(*definition_);
    longer->steps.push_back(std::move(step));
    return Flow<Input, Slug, Steps..., Info>(std::move(longer));
  }
  template <fixed_string S, StepKind K>
  Flow<Input, Slug, Steps..., StepInfo<S, diag::poison, K, false>> poisoned() const {
    return with<StepInfo<S, diag::poison, K, false>>(nullptr);
  }

  template <class D, class T>
  static void store(StepDefinition& step, T&& argument) {
    using X = std::decay_t<T>;
    constexpr auto tag = detail::tag_of<X>::value;
    if constexpr (tag == detail::Tag::run_if) {
      step.run_if = pattern_text(D{}, argument.condition);
    } else if constexpr (tag == detail::Tag::run_if_not) {
      step.run_if_not = pattern_text(D{}, argument.condition);
    } else if constexpr (tag == detail::Tag::handler) {
      step.handler = std::make_shared<const X>(std::forward<T>(argument));
    }
  }

  template <class F, class Plan, class... Rest, class... N>
  static void erase(StepDefinition& step, types<Rest...>, types<N...>) {
    step.invoke = &detail::invoke<F, typename Plan::In, Plan::form, Rest...>;
    step.needs_flow_input = detail::asks_flow_input<Rest...>;
    step.needs = {detail::type_name<std::remove_const_t<N>>()...};
    step.input_schema = +[] { return json_schema<typename Plan::In>(); };
    step.output_schema = +[] { return json_schema<typename Plan::Out>(); };
  }

  // A root step's pattern is checked against the flow's input, a dependent step's against its
  // dependencies' outputs.
  template <fixed_string... D>
  static std::string pattern_text(slugs<D...>, const detail::RawPattern& pattern) {
    using Checked = std::conditional_t<sizeof...(D) == 0, Input, Deps<dep_of<D>...>>;
    try {
      detail::check_pattern(detail::type_info<Checked>(), pattern.text);
    } catch (const JsonError& e) {
      throw PatternError(std::string("json_pattern: ") + e.what());
    }
    return from_json<Json>(pattern.text).text;  // without the author's line breaks
  }
  template <class D, class... C>
  static std::string pattern_text(D, detail::Condition<C...> condition) {
    (fill_present(condition.pattern, static_cast<C*>(nullptr)), ...);
    return condition.pattern.text();
  }

  // present() is {} for an object and [] for an array; which of them is known only here.
  template <class C>
  static void fill_present(detail::PatternNode&, C*) {}
  template <fixed_string S>
  static void
  fill_present(detail::PatternNode& pattern, detail::WholeCheck<detail::from_step<S>, detail::whole>*) {
    if constexpr (array_type<typename detail::step_named<S, Steps...>::output>) {
      for (std::size_t i = 0; i < pattern.keys.size(); ++i) {
        detail::PatternNode& child = pattern.children[i];
        if (pattern.keys[i] == S.view() && child.children.empty() && child.leaf.empty()) {
          child.leaf = "[]";
        }
      }
    }
  }

  std::shared_ptr<const FlowDefinition> definition_;
};

namespace detail {
struct flow_access {
  template <class Input, class Slug>
  static Flow<Input, Slug> make(std::string slug, FlowOptions options) {
    return Flow<Input, Slug>(new_flow(
        std::move(slug), options, +[] { return json_schema<Input>(); }
    ));
  }
};
}  // namespace detail

// Starts a flow whose slug the compiler knows: slug and queue names are checked at compile time.
// OptionError.
template <fixed_string S, class Input>
auto flow(FlowOptions options = {}) {
  [[maybe_unused]] constexpr bool ok = detail::slug_ok<S>();
  return detail::flow_access::make<Input, static_slug<S>>(std::string(S.view()), options);
}

// Starts a flow whose slug comes from elsewhere: the same checks throw InvalidSlugError and, later,
// StepQueueError.
template <class Input>
auto flow(std::string slug, FlowOptions options = {}) {
  return detail::flow_access::make<Input, dynamic_slug>(std::move(slug), options);
}

}  // namespace pgflow
