// One line an event, on standard error, written before the call returns; the only room that knows
// spdlog.
//
//   log::info("worker.started", {{"queue", queue}, {"worker_id", id}});
//
// Event names are constants; ids may be logged, message bodies and inputs never. Any thread may
// log.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/line.hpp"

namespace pgflow::log {

struct Options {
  Level level = Level::info;
  std::optional<Format> format{};  // absent: fancy on a terminal, else simple
  std::optional<bool> colour{};    // absent: on a terminal, unless NO_COLOR is set
  std::string component = "pgflow";
  std::vector<std::pair<std::string, std::string>> context{
  };  // e.g. worker_id, flow, step; not shown by fancy
};

// Before the first thread. Without it: info, as above. Calling it again replaces everything.
void init(Options options);

void set_level(Level level);  // from any thread
bool enabled(Level level);
// As init() has decided.
Format format();
bool colour();
// Lines that nobody read in time, since init(); from any thread.
std::uint64_t lines_left_out();

// A line of another process, as it is and whatever its level.
void forward(std::string_view line);

using Fields = std::initializer_list<Field>;

void write(Level level, std::string_view event, std::span<const Field> fields);

inline void debug(std::string_view event, Fields fields = {}) {
  write(Level::debug, event, {fields.begin(), fields.size()});
}
inline void info(std::string_view event, Fields fields = {}) {
  write(Level::info, event, {fields.begin(), fields.size()});
}
inline void warn(std::string_view event, Fields fields = {}) {
  write(Level::warn, event, {fields.begin(), fields.size()});
}
inline void error(std::string_view event, Fields fields = {}) {
  write(Level::error, event, {fields.begin(), fields.size()});
}

// The same with an Error's parts behind the fields: error, error_detail, error_hint, sqlstate.
void warn(std::string_view event, const Error& error, Fields fields = {});
void error(std::string_view event, const Error& error, Fields fields = {});

}  // namespace pgflow::log
