// The parameters of a query, in text format; the SQL casts them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong.hpp"

namespace pgflow::pg {

class Param {
 public:
  Param(std::nullopt_t) {}
  Param(std::string_view text) : text_(text) {}
  Param(const std::string& text) : text_(text) {}
  Param(std::string&& text) : text_(std::move(text)) {}
  Param(const char* text) : text_(text) {}
  Param(bool truth) : text_(truth ? "t" : "f") {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Param(T number) : text_(std::to_string(number)) {}
  template <class Tag>
  Param(const Uuid<Tag>& id) : text_(id.text()) {}
  template <class Tag, class T>
  Param(Number<Tag, T> number) : text_(std::to_string(number.value())) {}
  template <class T>
  Param(const std::optional<T>& value) : text_(value ? Param(*value).text_ : std::nullopt) {}

  // '{1,2,3}' for a bigint[] or int[], '{"a","b"}' for a text[].
  static Param array(std::span<const MessageId> ids);
  static Param array(std::span<const int> numbers);
  static Param array(std::span<const std::string> texts);

  const std::optional<std::string>& text() const { return text_; }

 private:
  std::optional<std::string> text_;
};

using Params = std::vector<Param>;

}  // namespace pgflow::pg
