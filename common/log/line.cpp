// No value can end a line, start an escape sequence or forge a field: control characters never get
// through.
#include "log/line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.hpp"

namespace pgflow::log {
namespace {

// Long enough for every message of ours; a stack trace of somebody's handler is cut.
constexpr std::size_t kLongestValue = 8 * 1024;

std::string rendered_time(WallClock::time_point time) {
  const std::time_t seconds = WallClock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

// C1 controls (U+0080…U+009F) drive terminals as ESC does.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

unsigned control_code(std::string_view character) {
  return static_cast<unsigned char>(character.back());
}

void append_escaped(std::string& out, std::string_view text) {
  bool cut = false;
  if (text.size() > kLongestValue) {
    text = text.substr(0, kLongestValue);
    cut = true;
  }
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";  // U+FFFD
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, length);
    text.remove_prefix(length);
    if (character == "\"" || character == "\\") {
      out += '\\';
      out += character;
    } else if (character == "\n") {
      out += "\\n";
    } else if (character == "\t") {
      out += "\\t";
    } else if (character == "\r") {
      out += "\\r";
    } else if (is_control(character)) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", control_code(character));
      out += code;
    } else {
      out += character;
    }
  }
  if (cut) out += "…";
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

bool is_plain_word(std::string_view text) {
  if (text.empty() || text.size() > kLongestValue) return false;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_-.:/+@#,").find(c) != std::string_view::npos;
    if (!plain) return false;
  }
  return true;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// The value's words if it is a text, nothing if it is a number or a truth.
std::optional<std::string_view> text_of(const Field::Value& value) {
  if (const auto* view = std::get_if<std::string_view>(&value)) return *view;
  if (const auto* owned = std::get_if<std::string>(&value)) return *owned;
  return std::nullopt;
}

std::string bare_text_of(const Field::Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  const double* real = std::get_if<double>(&value);
  return real != nullptr && std::isfinite(*real) ? number_text(*real) : "null";
}

void append_words(std::string& out, std::span<const Field> fields) {
  for (const Field& field : fields) {
    out += ' ';
    append_escaped(out, field.key);
    out += '=';
    if (const auto text = text_of(field.value); !text) {
      out += bare_text_of(field.value);
    } else if (is_plain_word(*text)) {
      out += *text;
    } else {
      append_quoted(out, *text);
    }
  }
}

void append_members(std::string& out, std::span<const Field> fields) {
  for (const Field& field : fields) {
    out += ',';
    append_quoted(out, field.key);
    out += ':';
    if (const auto text = text_of(field.value)) {
      append_quoted(out, *text);
    } else {
      out += bare_text_of(field.value);
    }
  }
}

// What the process says in every line, but for what this line says itself: no key stands twice.
std::vector<Field> context_of(const Line& line) {
  std::vector<Field> context;
  for (const Field& field : line.context) {
    const bool said = std::any_of(line.fields.begin(), line.fields.end(), [&](const Field& own) {
      return own.key == field.key;
    });
    if (!said) context.push_back(field);
  }
  return context;
}

std::string render_json(const Line& line) {
  std::string out = "{\"ts\":\"" + rfc3339(line.time) + "\",\"level\":\"";
  out += name(line.level);
  out += '"';
  const Field fixed[] = {{"component", line.component}, {"pid", line.pid}, {"event", line.event}};
  append_members(out, fixed);
  append_members(out, context_of(line));
  append_members(out, line.fields);
  out += '}';
  return out;
}

std::string render_simple(const Line& line) {
  std::string out = rfc3339(line.time) + " level=";
  out += name(line.level);
  const Field component[] = {{"component", line.component}};
  append_words(out, component);
  const Field event[] = {{"event", line.event}};
  append_words(out, event);
  append_words(out, context_of(line));
  append_words(out, line.fields);
  return out;
}

std::string render_fancy(const Line& line, bool colour) {
  constexpr std::array kColours = {"\033[2m", "\033[32m", "\033[33m", "\033[31m"};
  std::string level(name(line.level));
  level.resize(5, ' ');
  std::string out = rendered_time(line.time) + ' ';
  if (colour) out += kColours[static_cast<std::size_t>(line.level)];
  out += level;
  if (colour) out += "\033[0m";
  out += ' ';
  append_escaped(out, line.component);
  if (!line.component.empty()) out += ' ';
  if (colour) out += "\033[1m";
  append_escaped(out, line.event);
  if (colour) out += "\033[0m";
  append_words(out, line.fields);
  return out;
}

// Of a colour's escape sequence at the start of the text; 0: there is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const auto end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// Begins like `shape`, in which each 0 stands for a digit.
bool has_shape(std::string_view text, std::string_view shape) {
  return text.size() >= shape.size() &&
         std::equal(shape.begin(), shape.end(), text.begin(), [](char wanted, char is) {
           return wanted == '0' ? is >= '0' && is <= '9' : wanted == is;
         });
}

bool starts_with_level(std::string_view text) {
  constexpr std::array kWords = {"debug ", "info  ", "warn  ", "error "};
  return std::any_of(kWords.begin(), kWords.end(), [&](const char* word) {
    return text.starts_with(word);
  });
}

}  // namespace

Result<Level> parse_level(std::string_view text) {
  if (text == "debug" || text == "verbose") return Level::debug;
  if (text == "info") return Level::info;
  if (text == "warn" || text == "warning") return Level::warn;
  if (text == "error") return Level::error;
  return fail(
      {.kind = "log_level",
       .message = "Log level \"" + std::string(text) + "\" is unknown.",
       .hint = "Use debug, info, warn or error."}
  );
}

Result<Format> parse_format(std::string_view text) {
  if (text == "fancy") return Format::fancy;
  if (text == "simple") return Format::simple;
  if (text == "json") return Format::json;
  return fail(
      {.kind = "log_format",
       .message = "Log format \"" + std::string(text) + "\" is unknown.",
       .hint = "Use fancy, simple or json."}
  );
}

std::string_view name(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warn:
      return "warn";
    case Level::error:
      return "error";
  }
  return "error";
}

std::string_view name(Format format) {
  switch (format) {
    case Format::fancy:
      return "fancy";
    case Format::simple:
      return "simple";
    case Format::json:
      return "json";
  }
  return "simple";
}

std::string render(const Line& line, Format format, bool colour) {
  switch (format) {
    case Format::fancy:
      return render_fancy(line, colour);
    case Format::simple:
      return render_simple(line);
    case Format::json:
      return render_json(line);
  }
  return {};
}

bool is_rendered(std::string_view text) {
  std::string bare;
  while (!text.empty()) {
    if (const std::size_t length = colour_length(text); length > 0) {
      text.remove_prefix(length);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text.substr(0, length))) return false;
    bare += text.substr(0, length);
    text.remove_prefix(length);
  }
  if (bare.starts_with("{\"ts\":\"")) return bare.ends_with('}');
  return has_shape(bare, "00:00:00 ") ? starts_with_level(bare.substr(9))
                                      : has_shape(bare, "0000-00-00T00:00:00.000000Z level=");
}

std::string harmless(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t colour = colour_length(text);
    const std::size_t length = colour > 0 ? colour : std::max<std::size_t>(1, utf8_length(text));
    const std::string_view character = text.substr(0, length);
    text.remove_prefix(length);
    if (colour > 0) continue;
    const bool wrong = utf8_length(character) == 0 || (character != "\t" && is_control(character));
    out += wrong ? "\xEF\xBF\xBD" : character;
  }
  return out;
}

}  // namespace pgflow::log
