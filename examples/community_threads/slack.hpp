// Posts to a Slack incoming webhook; safe to share between handler threads.
#pragma once

#include <string>

class Slack {
 public:
  explicit Slack(std::string webhook_url);

  // The time stamp that Slack gave the message. Throws std::runtime_error with the HTTP status or
  // the reason.
  std::string post(const std::string& thread_id, const std::string& text) const;

 private:
  std::string webhook_url_;
};
