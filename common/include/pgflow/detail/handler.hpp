// Reading a handler's signature: which parameters are input, which are requirements, what comes
// out; and calling it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <pgflow/context.hpp>
#include <pgflow/deps.hpp>
#include <pgflow/detail/diagnosis.hpp>

namespace pgflow::detail {

[[noreturn]] void throw_missing_resource(std::string_view type);

// ---- Signatures
template <class F>
struct signature;
template <class R, class... A>
struct signature<R (*)(A...)> {
  using args = types<A...>;
  using result = R;
};
template <class R, class... A>
struct signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature<R (C::*)(A...)> : signature<R (*)(A...)> {
  using is_mutable = void;
};
template <class R, class C, class... A>
struct signature<R (C::*)(A...) const> : signature<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature<R (C::*)(A...) noexcept> : signature<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct signature<R (C::*)(A...) const noexcept> : signature<R (*)(A...)> {};

template <class F>
struct signature_of {
  using type = signature<F>;
};
template <class F>
  requires requires { &F::operator(); }
struct signature_of<F> {
  using type = signature<decltype(&F::operator())>;
};
template <class F>
using signature_t = typename signature_of<std::decay_t<F>>::type;

template <class F>
concept spelled_out = requires { typename signature_t<F>::args; };
template <class F>
concept generic_callable = std::is_class_v<std::decay_t<F>> && !spelled_out<F>;

// ---- Parameters after the input
template <class T>
struct is_flow_input : std::false_type {};
template <class T>
struct is_flow_input<FlowInput<T>> : std::true_type {
  using value_type = T;
};

template <class T>
concept builtin_parameter = std::is_same_v<T, Context> || std::is_same_v<T, std::stop_token> ||
                            std::is_same_v<T, Logger> || is_flow_input<T>::value;

// The argument for one parameter: made for this call (Context, FlowInput, stop_token) or borrowed.
template <class A>
class Argument {
  using T = std::remove_cvref_t<A>;
  static constexpr bool made = builtin_parameter<T> && !std::is_same_v<T, Logger>;

 public:
  explicit Argument(const Call& call) : value_(find(call)) {}
  auto& get() {
    if constexpr (made) {
      return value_;
    } else {
      return *value_;
    }
  }

 private:
  static std::conditional_t<made, T, T*> find(const Call& call) {
    if constexpr (std::is_same_v<T, std::stop_token>) {
      return call.stop;
    } else if constexpr (made) {
      return T(call);
    } else if constexpr (std::is_same_v<T, Logger>) {
      return call.log;
    } else {
      void* object = call.find(resource_key<T>());
      if (!object) {
        throw_missing_resource(type_name<T>());
      }
      if constexpr (std::is_same_v<T, Sql>) {
        static_cast<Sql*>(object)->serve(call.stop);
      }
      return static_cast<T*>(object);
    }
  }

  std::conditional_t<made, T, T*> value_;
};

// Which resource types a list of parameters asks for: T for `T&`, const T for `const T&`.
consteval types<> needs_of(types<>) {
  return {};
}
template <class A, class... Rest>
consteval auto needs_of(types<A, Rest...>) {
  using T = std::remove_cvref_t<A>;
  using Mine = std::conditional_t<builtin_parameter<T>, types<>, types<std::remove_reference_t<A>>>;
  return join_t<Mine, decltype(needs_of(types<Rest...>{}))>{};
}

template <class... A>
inline constexpr bool asks_flow_input = (is_flow_input<std::remove_cvref_t<A>>::value || ...);

// ---- Calling
template <class R>
struct output_type {
  using type = std::remove_cvref_t<R>;
};
template <>
struct output_type<void> {
  using type = std::monostate;
};
template <>
struct output_type<const char*> {
  using type = std::string;
};
template <>
struct output_type<std::string_view> {
  using type = std::string;
};

// How the input reaches the handler: not at all, as one parameter, as one parameter a dependency.
enum class Form { none, one, spread };

// StepDefinition::invoke of one handler: decode, call, encode. The only code instantiated for it.
template <class F, class In, Form form, class... Rest>
std::string invoke(const void* handler, const Call& call) {
  const F& f = *static_cast<const F*>(handler);
  const auto with_rest = [&]<class... A>(A&&... inputs) -> decltype(auto) {
    return [&](Argument<Rest>... rest) -> decltype(auto) {
      return f(std::forward<A>(inputs)..., static_cast<Rest>(rest.get())...);
    }(Argument<Rest>(call)...);
  };
  const auto run = [&]() -> decltype(auto) {
    if constexpr (form == Form::none) {
      return with_rest();
    } else if constexpr (form == Form::one) {
      return with_rest(from_json<In>(call.input));
    } else {
      return std::apply(
          [&](auto&&... values) -> decltype(auto) { return with_rest(std::move(values)...); },
          from_json<In>(call.input).values
      );
    }
  };
  using R = decltype(run());
  if constexpr (std::is_void_v<R>) {
    run();
    return "null";
  } else {
    using Out = typename output_type<std::remove_cvref_t<R>>::type;
    if constexpr (std::is_same_v<Out, std::remove_cvref_t<R>>) {
      return to_json<Out>(run());
    } else {
      return to_json<Out>(Out(run()));
    }
  }
}

// ---- Reading a handler against its step's input. In the names below S is the step and FlowIn the
// flow's input type.

// What .step() needs to know of a handler that fits.
template <class In_, Form form_, class Rest_, class Out_>
struct GoodPlan {
  static constexpr bool ok = true;
  static constexpr Form form = form_;
  using In = In_;      // decoded from the call's input
  using Rest = Rest_;  // the parameters after it
  using Out = Out_;
};
struct BadPlan {
  static constexpr bool ok = false;
};
// Naming a diagnosis as argument is what prints it.
template <bool>
consteval BadPlan bad_plan() {
  return {};
}

template <fixed_string S, class FlowIn, class P>
consteval bool parameter_ok() {
  using T = std::remove_cvref_t<P>;
  if constexpr (is_flow_input<T>::value) {
    if constexpr (std::is_same_v<T, FlowInput<FlowIn>>) {
      return true;
    } else {
      return diag::flow_input_type<diag::in_step<S>, diag::expected<FlowIn>, diag::got<T>>::ok;
    }
  } else if constexpr (builtin_parameter<T> || std::is_lvalue_reference_v<P>) {
    return true;
  } else {
    return diag::resource_by_value<diag::in_step<S>, diag::got<P>>::ok;
  }
}
template <fixed_string S, class FlowIn, class... A>
consteval bool rest_ok(types<A...>) {
  return (parameter_ok<S, FlowIn, A>() && ...);
}

template <fixed_string S, class T>
consteval auto no_json_form() {
  return bad_plan<diag::no_json_form<
      diag::in_step<S>,
      diag::type<T>,
      diag::got<typename decltype(offending<T>())::type>>::ok>();
}

template <fixed_string S, class FlowIn, class In, Form form, class Rest, class R>
consteval auto finish_plan() {
  using Out = typename output_type<R>::type;
  if constexpr (!rest_ok<S, FlowIn>(Rest{})) {
    return BadPlan{};
  } else if constexpr (form != Form::none && !JsonType<In>) {
    return no_json_form<S, In>();
  } else if constexpr (!JsonType<Out>) {
    return no_json_form<S, Out>();
  } else {
    return GoodPlan<In, form, Rest, Out>{};
  }
}

template <fixed_string S, class FlowIn, class In, class F>
consteval auto plan_generic() {
  if constexpr (std::is_invocable_v<const F&, In, Context&>) {
    using R = std::invoke_result_t<const F&, In, Context&>;
    return finish_plan<S, FlowIn, In, Form::one, types<Context&>, R>();
  } else if constexpr (std::is_invocable_v<const F&, In>) {
    using R = std::invoke_result_t<const F&, In>;
    return finish_plan<S, FlowIn, In, Form::one, types<>, R>();
  } else {
    return bad_plan<diag::generic_parameters<diag::in_step<S>>::ok>();
  }
}

// A root or map step: In is the flow's input or one element.
template <fixed_string S, class FlowIn, class In, class R>
consteval auto plan_single(types<>) {
  return finish_plan<S, FlowIn, In, Form::none, types<>, R>();
}
template <fixed_string S, class FlowIn, class In, class R, class P, class... Rest>
consteval auto plan_single(types<P, Rest...>) {
  using T = std::remove_cvref_t<P>;
  if constexpr (std::is_same_v<T, In>) {
    return finish_plan<S, FlowIn, In, Form::one, types<Rest...>, R>();
  } else if constexpr (builtin_parameter<T>) {
    return finish_plan<S, FlowIn, In, Form::none, types<P, Rest...>, R>();
  } else if constexpr (std::is_convertible_v<In, P>) {
    return finish_plan<S, FlowIn, In, Form::one, types<Rest...>, R>();
  } else {
    return bad_plan<diag::input_parameter<diag::in_step<S>, diag::expected<In>, diag::got<P>>::ok>(
    );
  }
}
template <fixed_string S, class FlowIn, class In, class F>
consteval auto plan_root() {
  if constexpr (generic_callable<F>) {
    return plan_generic<S, FlowIn, In, F>();
  } else if constexpr (requires { typename signature_t<F>::is_mutable; }) {
    return bad_plan<diag::mutable_handler<diag::in_step<S>>::ok>();
  } else {
    using Signature = signature_t<F>;
    return plan_single<S, FlowIn, In, typename Signature::result>(typename Signature::args{});
  }
}

// A dependent step: its input is an object of outputs, D… in depends_on order.
template <class P, class D>
inline constexpr bool takes_dep =
    std::is_same_v<std::remove_cvref_t<P>, typename D::type> ||
    std::is_same_v<std::remove_cvref_t<P>, std::optional<typename D::output>>;

template <class T, class... D>
consteval bool names_a_dep() {
  if constexpr (reflectable<T> && !has_json_as<T>) {
    for (const auto name : reflect::field_names<T>) {
      if (((D::slug.view() == name) || ...)) {
        return true;
      }
    }
  }
  return false;
}

template <fixed_string S, class T, std::size_t K, class M, class... D>
consteval bool member_ok() {
  if constexpr (((D::slug.view() == reflect::field_names<T>[K] && takes_dep<M, D>) || ...)) {
    return true;
  } else {
    return diag::
        dependency_member<diag::in_step<S>, diag::index<K>, diag::got<M>, diag::expected<D...>>::ok;
  }
}
template <fixed_string S, class T, class... D, class... M, std::size_t... K>
consteval bool members_ok(types<M...>, std::index_sequence<K...>) {
  return (member_ok<S, T, K, M, D...>() && ...);
}

template <class... D, class... A, std::size_t... I>
consteval bool spread_matches(types<A...>, std::index_sequence<I...>) {
  if constexpr (sizeof...(A) < sizeof...(D)) {
    return false;
  } else {
    return (takes_dep<std::tuple_element_t<I, std::tuple<A...>>, D> && ...);
  }
}

template <std::size_t N>
consteval auto drop(types<>) {
  return types<>{};
}
template <std::size_t N, class T, class... Rest>
consteval auto drop(types<T, Rest...>) {
  if constexpr (N == 0) {
    return types<T, Rest...>{};
  } else {
    return drop<N - 1>(types<Rest...>{});
  }
}

template <fixed_string S, class FlowIn, class R, class... D>
consteval auto plan_dependent(types<>, types<D...>) {
  return finish_plan<S, FlowIn, Deps<D...>, Form::none, types<>, R>();
}
template <fixed_string S, class FlowIn, class R, class P, class... Rest, class... D>
consteval auto plan_dependent(types<P, Rest...> all, types<D...>) {
  using T = std::remove_cvref_t<P>;
  if constexpr (std::is_same_v<T, Deps<D...>>) {
    return finish_plan<S, FlowIn, T, Form::one, types<Rest...>, R>();
  } else if constexpr (builtin_parameter<T>) {
    return finish_plan<S, FlowIn, Deps<D...>, Form::none, types<P, Rest...>, R>();
  } else if constexpr (names_a_dep<T, D...>()) {
    constexpr auto positions = std::make_index_sequence<reflect::field_count<T>>{};
    if constexpr (members_ok<S, T, D...>(reflect::member_types<T>{}, positions)) {
      return finish_plan<S, FlowIn, T, Form::one, types<Rest...>, R>();
    } else {
      return BadPlan{};
    }
  } else if constexpr (spread_matches<D...>(types<P, Rest...>{}, std::index_sequence_for<D...>{})) {
    return finish_plan<S, FlowIn, Deps<D...>, Form::spread, decltype(drop<sizeof...(D)>(all)), R>();
  } else {
    return bad_plan<
        diag::dependency_parameters<diag::in_step<S>, diag::expected<D...>, diag::got<P, Rest...>>::
            ok>();
  }
}
template <fixed_string S, class FlowIn, class F, class... D>
consteval auto plan_deps() {
  if constexpr (generic_callable<F>) {
    return plan_generic<S, FlowIn, Deps<D...>, F>();
  } else if constexpr (requires { typename signature_t<F>::is_mutable; }) {
    return bad_plan<diag::mutable_handler<diag::in_step<S>>::ok>();
  } else {
    using Signature = signature_t<F>;
    return plan_dependent<S, FlowIn, typename Signature::result>(
        typename Signature::args{}, types<D...>{}
    );
  }
}

}  // namespace pgflow::detail
