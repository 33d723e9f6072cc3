// Refusing slugs, in the words of SQL.
#include "flow/slug.hpp"

#include <string>

#include <pgflow/error.hpp>

#include "flow/words.hpp"

namespace pgflow {

void require_flow_slug(std::string_view slug) {
  if (const SlugProblem problem = check_slug(slug); problem != SlugProblem::none) {
    throw InvalidSlugError(
        std::string(slug),
        {"invalid_flow_slug",
         "Invalid flow slug " + words::quote(slug) + ".",
         std::string(slug_rule(problem)),
         "Rename the flow."}
    );
  }
}

void require_step_slug(std::string_view flow, std::string_view slug, std::size_t step_index) {
  if (const SlugProblem problem = check_slug(slug); problem != SlugProblem::none) {
    throw InvalidSlugError(
        std::string(slug),
        {"invalid_step_slug",
         "Invalid step slug " + words::quote(slug) + " at index " + std::to_string(step_index) +
             " in flow " + words::quote(flow) + ".",
         std::string(slug_rule(problem)),
         "Rename the step."}
    );
  }
}

std::string_view slug_rule(SlugProblem problem) {
  switch (problem) {
    case SlugProblem::none:
      return "";
    case SlugProblem::empty:
      return "A slug cannot be empty.";
    case SlugProblem::too_long:
      return "A slug has at most 128 characters.";
    case SlugProblem::reserved:
      return "The slug \"run\" is reserved.";
    case SlugProblem::leading_digit:
      return "A slug cannot start with a digit.";
    case SlugProblem::bad_character:
      return "A slug has only letters, digits and single underscores.";
    case SlugProblem::leading_underscore:
      return "A slug cannot start with an underscore.";
    case SlugProblem::trailing_underscore:
      return "A slug cannot end with an underscore.";
    case SlugProblem::double_underscore:
      return "\"__\" is reserved for generated queue names.";
  }
  return "";
}

}  // namespace pgflow
