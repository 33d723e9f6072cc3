// What a command says beside its result: its last words for an error text, its lines for the log.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace pgflow::worker {

// The last 2,000 bytes.
class Tail {
 public:
  void add(std::string_view bytes);
  // Valid UTF-8 without control characters but line ends, and without white space at its end.
  std::string text() const;

 private:
  std::string bytes_;
};

// Cuts bytes into lines; of a command that prints without end only the beginning is logged.
class LineLog {
 public:
  using Write = std::function<void(std::string_view line)>;

  explicit LineLog(Write write) : write_(std::move(write)) {}

  void add(std::string_view bytes);
  // Logs a line without line end, and how much was left out.
  void end();
  // Allows as much again: the next task's lines.
  void refill() { left_ = kBudget; }

 private:
  static constexpr std::size_t kBudget = 1 << 20;
  static constexpr std::size_t kLongestLine = 4'000;
  static constexpr std::size_t kFrame = 64;  // what the log puts around a line, about

  void line();

  Write write_;
  std::string line_;
  std::size_t left_ = kBudget;
  std::size_t left_out_ = 0;
};

// The beginning of a text as it can stand in an error message, on one line.
std::string beginning(std::string_view text);

}  // namespace pgflow::worker
