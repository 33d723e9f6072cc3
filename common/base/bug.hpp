// PGFLOW_BUG: we are wrong, so say where and abort; the supervisor restarts the process.
#pragma once

#include <string_view>

namespace pgflow {

[[noreturn]] void bug(const char* file, int line, std::string_view what) noexcept;

}  // namespace pgflow

#define PGFLOW_BUG(what) ::pgflow::bug(__FILE__, __LINE__, what)
