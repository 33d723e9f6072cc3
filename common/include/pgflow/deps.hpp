// The outputs of a step's dependencies, by name: what a handler with `const auto& in` receives.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pgflow/detail/diagnosis.hpp>
#include <pgflow/json.hpp>

namespace pgflow {

// One dependency. The output of a step that may have been skipped while its dependents run is
// optional.
template <fixed_string S, class T, bool Skippable>
struct Dep {
  static constexpr auto slug = S;                                   // of the dependency
  static constexpr bool skippable = Skippable;                      // may be missing
  using output = T;                                                 // what its handler returns
  using type = std::conditional_t<Skippable, std::optional<T>, T>;  // as the handler gets it
};

// The outputs of all dependencies.
template <class... D>
class Deps {
 public:
  std::tuple<typename D::type...> values;  // in depends_on order

  // in.get<"quote">(); inside a generic lambda in["quote"_step] needs no `template`.
  template <fixed_string S>
  const auto& get() const {
    constexpr std::size_t i = position<S>();
    if constexpr (i == sizeof...(D)) {
      (void)diag::dependency_unknown_in_handler<
          diag::unknown<S>,
          diag::suggestion<S, D::slug...>,
          diag::known_steps<D::slug...>>{};
      return values;
    } else {
      return std::get<i>(values);
    }
  }
  // The same as get<S>().
  template <fixed_string S>
  const auto& operator[](slug_t<S>) const {
    return this->template get<S>();
  }

  // How error texts call it.
  static constexpr std::string_view pgflow_name = "the dependencies";
  // Its members, for the codec.
  static const detail::FieldInfo* pgflow_table(std::size_t& count) {
    static const auto table = make_table(std::index_sequence_for<D...>{});
    count = sizeof...(D);
    return table.data();
  }

 private:
  template <fixed_string S>
  static consteval std::size_t position() {
    std::size_t i = 0;
    std::size_t found = sizeof...(D);
    ((D::slug.view() == S.view() ? (found = i, 0) : 0, ++i), ...);
    return found;
  }
  template <std::size_t... I>
  static std::array<detail::FieldInfo, sizeof...(D)> make_table(std::index_sequence<I...>) {
    static detail::storage<Deps> room;
    return {detail::FieldInfo{
        D::slug.view(),
        detail::offset_of(room, std::get<I>(room.value.values)),
        &detail::type_info<typename D::type>,
        D::skippable
    }...};
  }
};

}  // namespace pgflow
