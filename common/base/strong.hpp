// Numbers and ids that cannot be mixed up: each kind is a type of its own.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "base/uuid.hpp"

namespace pgflow {

template <class Tag, class T>
class Number {
 public:
  constexpr Number() = default;
  constexpr explicit Number(T value) : value_(value) {}
  constexpr T value() const { return value_; }
  friend constexpr auto operator<=>(const Number&, const Number&) = default;

 private:
  T value_{};
};

struct RunIdTag;
struct WorkerIdTag;
using RunId = Uuid<RunIdTag>;
using WorkerId = Uuid<WorkerIdTag>;
using MessageId =
    Number<struct MessageIdTag, std::int64_t>;  // a decimal *string* in every JSON we print
using StepIndex = Number<struct StepIndexTag, int>;

// How many tasks a worker may hold at once; at least one.
class Concurrency {
 public:
  static Result<Concurrency> parse(std::int64_t value);
  constexpr Concurrency() = default;
  constexpr int value() const { return value_; }
  friend constexpr auto operator<=>(const Concurrency&, const Concurrency&) = default;

 private:
  constexpr explicit Concurrency(int value) : value_(value) {}
  int value_ = 1;
};

inline Result<Concurrency> Concurrency::parse(std::int64_t value) {
  constexpr std::int64_t kMost = 10'000;
  if (value >= 1 && value <= kMost) return Concurrency(static_cast<int>(value));
  return fail(
      {.kind = "invalid_concurrency",
       .message = "Concurrency " + std::to_string(value) + " is out of range.",
       .hint = "Use a number from 1 to " + std::to_string(kMost) + "."}
  );
}

}  // namespace pgflow

template <class Tag, class T>
struct std::hash<pgflow::Number<Tag, T>> {
  std::size_t operator()(const pgflow::Number<Tag, T>& number) const noexcept {
    return std::hash<T>()(number.value());
  }
};
