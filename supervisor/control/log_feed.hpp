// What workers have said lately: the last lines for who asks, the next ones for who follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/control/documents.hpp"
#include "supervisor/control/http_server.hpp"

namespace pgflow::supervisor {

// Whose lines; what is empty does not matter.
struct LogChoice {
  std::string flow_slug;
  std::string step_slug;
  std::string worker_id;  // its beginning

  bool takes(const LogLineDocument& line) const;
};

class LogFeed {
 public:
  void say(WorkerLine line);

  // At most `most` of them, the newest; only those after the line with the id `after`.
  LogsDocument last(const LogChoice& choice, std::size_t most, std::int64_t after = 0) const;
  // The same as server-sent events.
  std::string text_of_last(const LogChoice& choice, std::size_t most, std::int64_t after = 0) const;

  void follow(LogChoice choice, std::shared_ptr<HttpStream> stream);
  // Something for the followers to read, or their end is never noticed.
  void keep_alive();

 private:
  struct Follower {
    LogChoice choice;
    std::shared_ptr<HttpStream> stream;
  };

  std::int64_t last_id_ = 0;
  std::size_t bytes_ = 0;  // of the texts in lines_
  std::deque<LogLineDocument> lines_;
  std::vector<Follower> followers_;
};

}  // namespace pgflow::supervisor
