#include "supervisor/control/log_feed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pgflow::supervisor {
namespace {

constexpr std::size_t kMostLines = 2'000;
constexpr std::size_t kMostBytes = 1024 * 1024;

std::string text_of(const LogLineDocument& line) {
  return fmt::format("id: {}\nevent: line\ndata: {}\n\n", line.id, to_json(line));
}

}  // namespace

bool LogChoice::takes(const LogLineDocument& line) const {
  return (flow_slug.empty() || flow_slug == line.flow) &&
         (step_slug.empty() || step_slug == line.step.value_or("")) &&
         line.worker_id.starts_with(worker_id);
}

void LogFeed::say(WorkerLine line) {
  lines_.push_back(document_of(std::move(line)));
  lines_.back().id = ++last_id_;
  bytes_ += lines_.back().text.size();
  while (lines_.size() > kMostLines || bytes_ > kMostBytes) {
    bytes_ -= lines_.front().text.size();
    lines_.pop_front();
  }
  std::erase_if(followers_, [](const Follower& follower) { return follower.stream->gone(); });
  if (followers_.empty()) return;
  const LogLineDocument& newest = lines_.back();
  const std::string text = text_of(newest);
  for (const Follower& follower : followers_) {
    if (follower.choice.takes(newest)) follower.stream->write(text);
  }
}

LogsDocument LogFeed::last(const LogChoice& choice, std::size_t most, std::int64_t after) const {
  LogsDocument out;
  for (auto line = lines_.rbegin(); line != lines_.rend() && out.lines.size() < most; ++line) {
    if (line->id <= after) break;
    if (choice.takes(*line)) out.lines.push_back(*line);
  }
  std::ranges::reverse(out.lines);
  return out;
}

std::string LogFeed::text_of_last(const LogChoice& choice, std::size_t most, std::int64_t after)
    const {
  std::string text;
  for (const LogLineDocument& line : last(choice, most, after).lines) text += text_of(line);
  return text;
}

void LogFeed::follow(LogChoice choice, std::shared_ptr<HttpStream> stream) {
  followers_.push_back({std::move(choice), std::move(stream)});
}

void LogFeed::keep_alive() {
  std::erase_if(followers_, [](const Follower& follower) { return follower.stream->gone(); });
  for (const Follower& follower : followers_) follower.stream->write(": still here\n\n");
}

}  // namespace pgflow::supervisor
