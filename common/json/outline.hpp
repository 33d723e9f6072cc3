// The top level of a JSON text: everything is checked, and no tree is built, however long it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "json/value.hpp"

namespace pgflow::json {

// Views into the text that was read.
struct Outline {
  struct Member {
    std::string name;
    std::string_view text;  // the value, as written
  };

  Type type = Type::null;
  std::vector<Member> members;  // of an object
  // Why jsonb cannot store it, or we do not want to, with the place; empty: it can be stored.
  std::string unstorable;

  // The last member of that name; empty when there is none: no JSON value is.
  std::string_view find(std::string_view name) const;
};

// Refuses what is not JSON; what parse() refuses beyond that is told in `unstorable`.
Result<Outline> outline(std::string_view text);

}  // namespace pgflow::json
