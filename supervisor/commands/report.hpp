// How a verb speaks: data on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>

#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"

namespace pgflow::cli {

// Data: exactly these bytes and a newline, unless the text ends with one.
void print(std::string_view text);

// "hint: …" on stderr, for people only: silent when the output is JSON or stdout is no terminal.
void print_hint(const Common& common, std::string_view hint);

// "error: …", "detail: …", "hint: …" on stderr.
void print_error(const Style& style, const Error& error);

// All problems of a config file as one failure; its message is settings' own text.
Failure config_failure(const settings::LoadError& error);

// For the verbs that log: as PGFLOW_LOG_LEVEL and PGFLOW_LOG_FORMAT say, else as the config does.
void open_log(const settings::LogSettings& settings);

}  // namespace pgflow::cli
