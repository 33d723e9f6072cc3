// What a person sees: colour only where it is wanted, columns that align, durations that read well.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pgflow::cli {

// Paints text, or leaves it alone.
class Style {
 public:
  explicit Style(bool colours) : colours_(colours) {}

  std::string green(std::string_view text) const { return paint("32", text); }
  std::string red(std::string_view text) const { return paint("31", text); }
  std::string yellow(std::string_view text) const { return paint("33", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  std::string bold(std::string_view text) const { return paint("1", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const;

  bool colours_;
};

// A terminal that understands cursor movement and colour: not a pipe, not TERM=dumb.
bool is_terminal(int fd);
// The same, unless NO_COLOR asks for plain text or CLICOLOR_FORCE for colour everywhere.
bool wants_colour(int fd);

// Columns a text takes on a terminal: escape sequences take none, a UTF-8 character takes one.
std::size_t display_width(std::string_view text);

enum class Align { left, right };

// Rows under a heading (none when all headings are empty), each column as wide as its widest cell;
// the last left-aligned column is not padded.
class Table {
 public:
  struct Column {
    std::string_view heading;
    Align align = Align::left;
  };
  Table(std::string_view indent, std::vector<Column> columns);

  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // One line a row, each ended by a newline.
  std::string text() const;

 private:
  std::string_view indent_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr std::string_view kNothing = "–";

// "7ms", "0.70s", "12.4s", "2m11s", "3h05m", "2d04h"; kNothing without a value.
std::string duration_text(std::optional<double> seconds);

// "1 step", "2 steps".
std::string counted(long long count, std::string_view noun);

// "████████░░░░" of `width` characters.
std::string bar(double fraction, std::size_t width);

// How far a longer job is, on stderr: one line that repaints itself on a terminal, now and then a
// plain line in a pipe.
class Progress {
 public:
  explicit Progress(bool repaint) : repaint_(repaint) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  void update(long long done, long long total, std::string_view what);
  // Leaves the last state standing and the cursor on a fresh line.
  void finish();

 private:
  bool repaint_;
  bool line_open_ = false;
  long long last_printed_tenth_ = -1;
};

}  // namespace pgflow::cli
