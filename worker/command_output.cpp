#include "worker/command_output.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace pgflow::worker {
namespace {

constexpr std::size_t kTail = 2'000;
constexpr std::size_t kBeginning = 80;

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
}

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

void Tail::add(std::string_view bytes) {
  bytes_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  if (bytes_.size() > kTail) bytes_.erase(0, bytes_.size() - kTail);
}

std::string Tail::text() const {
  std::string_view bytes = bytes_;
  // The cut may have gone through a character.
  if (bytes.size() == kTail) {
    while (!bytes.empty() && continues_a_character(bytes.front())) bytes.remove_prefix(1);
  }
  std::string text = valid_utf8(bytes);
  std::erase_if(text, is_control);
  const auto last = text.find_last_not_of(" \t\n");
  text.erase(last == std::string::npos ? 0 : last + 1);
  return text;
}

void LineLog::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t taken =
        std::min({end, bytes.size(), kLongestLine - std::min(kLongestLine, line_.size())});
    line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (bytes.starts_with('\n')) bytes.remove_prefix(1);
    if (taken == end || line_.size() == kLongestLine) line();
  }
}

void LineLog::end() {
  line();
  if (left_out_ > 0) write_("… and " + std::to_string(left_out_) + " bytes that are not logged");
  left_out_ = 0;
}

void LineLog::line() {
  if (line_.empty()) return;
  const std::size_t cost = line_.size() + kFrame;
  if (cost > left_) {
    left_ = 0;
    left_out_ += line_.size() + 1;
  } else {
    left_ -= cost;
    write_(valid_utf8(line_));
  }
  line_.clear();
}

std::string beginning(std::string_view text) {
  std::string start = valid_utf8(text.substr(0, kBeginning));
  std::replace_if(
      start.begin(), start.end(), [](char c) { return is_control(c) || c == '\n'; }, ' '
  );
  return "\"" + start + (text.size() > kBeginning ? "…\"" : "\"");
}

}  // namespace pgflow::worker
