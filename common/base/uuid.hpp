// UUIDs: made (version 4 and 7), parsed, printed; Uuid<Tag> makes each kind of id a type of its
// own.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pgflow {

using UuidBytes = std::array<std::uint8_t, 16>;

UuidBytes random_uuid();  // version 4, from the kernel's random source
UuidBytes time_uuid();    // version 7: sorts by the millisecond it was made in
std::string uuid_text(const UuidBytes& bytes);  // lower case, with dashes
Result<UuidBytes> parse_uuid(std::string_view text);

template <class Tag>
class Uuid {
 public:
  static Uuid random() { return Uuid(random_uuid()); }
  static Uuid time_ordered() { return Uuid(time_uuid()); }
  static Result<Uuid> parse(std::string_view text) {
    return parse_uuid(text).map([](const UuidBytes& bytes) { return Uuid(bytes); });
  }

  Uuid() = default;  // the nil UUID, so that rows can be made before they are filled
  std::string text() const { return uuid_text(bytes_); }
  const UuidBytes& bytes() const { return bytes_; }
  friend auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  explicit Uuid(const UuidBytes& bytes) : bytes_(bytes) {}
  UuidBytes bytes_{};
};

}  // namespace pgflow

template <class Tag>
struct std::hash<pgflow::Uuid<Tag>> {
  std::size_t operator()(const pgflow::Uuid<Tag>& id) const noexcept {
    const auto& bytes = id.bytes();
    return std::hash<std::string_view>()(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
    );
  }
};
