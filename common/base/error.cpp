// The one-line form of an Error.
#include <pgflow/error.hpp>

namespace pgflow {

std::string Error::text() const {
  std::string line = message;
  for (const std::string* part : {&detail, &hint}) {
    if (!part->empty()) line += " " + *part;
  }
  return line;
}

}  // namespace pgflow
