// How a verb speaks: data on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"

namespace pgflow::cli {

// Data: exactly these bytes and a newline, unless the text ends with one.
void print(std::string_view text);

// A list, each row one JSON object: all in one object under `name`, or with jsonl a line each.
void print_rows(const Common& common, std::string_view name, const std::vector<std::string>& rows);

// "mila@web1": who does something that is kept.
std::string this_person();

// "hint: …" on stderr, for people only: silent when the output is JSON or stdout is no terminal.
void print_hint(const Common& common, std::string_view hint);
// The same for everybody: why there is nothing to show.
void print_remark(const Common& common, std::string_view hint);

// "error: …", "detail: …", "hint: …" on stderr.
void print_error(const Style& style, const Error& error);

// All problems of a config file as one failure; its message is settings' own text.
Failure config_failure(const settings::LoadError& error);

// For the verbs that log: as PGFLOW_LOG_LEVEL and PGFLOW_LOG_FORMAT say, else as the config does.
void open_log(const settings::LogSettings& settings);

}  // namespace pgflow::cli
