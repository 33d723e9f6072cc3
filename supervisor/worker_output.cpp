#include "supervisor/worker_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pgflow::supervisor {
namespace {

constexpr std::size_t kAtOnce = 16 * 1024;       // a turn of the loop; who floods waits in write()
constexpr std::size_t kLongestLine = 64 * 1024;  // the rest of a longer one is left out
// What a pipe holds, twice: a child that goes on writing is not waited for.
constexpr int kLastReads = 8;
constexpr std::string_view kCut = "…";

}  // namespace

WorkerOutput::WorkerOutput(uv::Loop& loop, UniqueFd pipe, OnLine on_line)
    : pipe_(std::move(pipe)),
      on_line_(std::move(on_line)),
      poll_(loop, pipe_.get(), [this](uv::Ready) {
        if (!read() && ended_) poll_.stop();
      }) {
  poll_.watch(true, false);
}

void WorkerOutput::finish() {
  for (int i = 0; i < kLastReads && read(); ++i) continue;
  poll_.stop();
  if (!line_.empty()) end_line();
}

bool WorkerOutput::read() {
  static char buffer[kAtOnce];
  for (;;) {
    const ssize_t size = ::read(pipe_.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    ended_ = size <= 0;
    if (ended_) return false;
    take({buffer, static_cast<std::size_t>(size)});
    return true;
  }
}

void WorkerOutput::take(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::size_t room = kLongestLine - std::min(line_.size(), kLongestLine);
    line_ += text.substr(0, std::min(end, room));
    is_cut_ |= end > room;
    if (end == text.size()) return;
    end_line();
    text.remove_prefix(end + 1);
  }
}

void WorkerOutput::end_line() {
  if (is_cut_) line_ += kCut;
  on_line_(line_);
  // Not kept for the next one: a hundred workers had a long one each.
  line_ = {};
  is_cut_ = false;
}

}  // namespace pgflow::supervisor
