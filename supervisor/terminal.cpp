#include "supervisor/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace pgflow::cli {
namespace {

bool set_and_not_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::string padded(std::string_view text, std::size_t width, Align align) {
  std::size_t taken = display_width(text);
  std::string space(width > taken ? width - taken : 0, ' ');
  return align == Align::right ? space + std::string(text) : std::string(text) + space;
}

}  // namespace

std::string Style::paint(std::string_view code, std::string_view text) const {
  if (!colours_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

bool is_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

bool wants_colour(int fd) {
  if (set_and_not_empty("NO_COLOR")) return false;
  if (set_and_not_empty("CLICOLOR_FORCE")) return true;
  return is_terminal(fd);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {  // not a continuation byte
      ++width;
    }
  }
  return width;
}

Table::Table(std::string_view indent, std::vector<Column> columns)
    : indent_(indent), columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.heading));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::string result;
  auto add_line = [&](auto&& cell) {
    std::string line(indent_);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      line += padded(cell(c), widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  const bool headed =
      std::ranges::any_of(columns_, [](const Column& c) { return !c.heading.empty(); });
  if (headed) add_line([&](std::size_t c) { return std::string(columns_[c].heading); });
  for (const auto& row : rows_) add_line([&](std::size_t c) { return row[c]; });
  return result;
}

std::string duration_text(std::optional<double> seconds) {
  if (!seconds) return std::string(kNothing);
  const double s = std::max(*seconds, 0.0);
  if (s < 0.0995) return fmt::format("{:.0f}ms", s * 1000);
  if (s < 9.995) return fmt::format("{:.2f}s", s);
  if (s < 59.95) return fmt::format("{:.1f}s", s);
  const long long whole = std::llround(s);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole % 86400 / 3600);
}

std::string counted(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string bar(double fraction, std::size_t width) {
  const auto full =
      static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width) + 0.5);
  std::string result;
  for (std::size_t i = 0; i < width; ++i) result += i < full ? "█" : "░";
  return result;
}

void Progress::update(long long done, long long total, std::string_view what) {
  const double fraction = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  if (repaint_) {
    std::fputs(
        fmt::format("\r\x1b[K{} {}/{} {}", bar(fraction, 24), done, total, what).c_str(), stderr
    );
    std::fflush(stderr);
    line_open_ = true;
    return;
  }
  const auto tenth = static_cast<long long>(fraction * 10);
  if (tenth == last_printed_tenth_) return;
  last_printed_tenth_ = tenth;
  std::fputs(fmt::format("{}/{} {}\n", done, total, what).c_str(), stderr);
}

void Progress::finish() {
  if (line_open_) std::fputc('\n', stderr);
  line_open_ = false;
}

}  // namespace pgflow::cli
