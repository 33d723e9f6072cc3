// The slug rules, thrown: what the compiler checks for literals, for slugs that come from
// elsewhere.
#pragma once

#include <cstddef>
#include <string_view>

#include <pgflow/ids.hpp>

namespace pgflow {

// Both throw InvalidSlugError.
void require_flow_slug(std::string_view slug);
void require_step_slug(std::string_view flow, std::string_view slug, std::size_t step_index);

// The rule that was broken, as a sentence.
std::string_view slug_rule(SlugProblem);

}  // namespace pgflow
