// What shells and man(1) want to know of the command line, made from its own table.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace pgflow::cli {

// For bash, zsh or fish.
std::string completion_script(const CLI::App& app, std::string_view shell);

// The man page, as troff.
std::string man_page(const CLI::App& app, std::string_view version);

}  // namespace pgflow::cli
