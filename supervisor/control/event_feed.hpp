// What changed in a supervisor, as numbered events: the last ones for who asks, the next ones for
// who follows.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/control/documents.hpp"
#include "supervisor/control/http_server.hpp"

namespace pgflow::supervisor {

class EventFeed {
 public:
  // Tells what differs from the last one that was shown.
  void show(Snapshot now);
  // Remembered events after this id, as server-sent events.
  std::string text_after(std::int64_t id) const;
  EventsDocument remembered() const;

  void follow(std::shared_ptr<HttpStream> stream);
  // Something for the followers to read, or their end is never noticed.
  void keep_alive();

 private:
  void tell(std::string_view event, std::string data);
  void write(std::string_view text);

  Snapshot shown_;
  std::int64_t last_id_ = 0;
  std::deque<EventDocument> events_;
  std::vector<std::shared_ptr<HttpStream>> followers_;
};

}  // namespace pgflow::supervisor
