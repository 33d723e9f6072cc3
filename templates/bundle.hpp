// The projects that `pgflow init` makes, compiled in (embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace pgflow::templates {

// The flow of all templates; a project's own slug takes its place.
inline constexpr std::string_view kSlug = "helloV1";

struct File {
  std::string_view name;
  std::string_view text;
};

struct Project {
  std::string_view lang;
  std::span<const File> files;
};

std::span<const Project> projects();

}  // namespace pgflow::templates
