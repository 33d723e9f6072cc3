// Asks the database every few seconds how the queues are, on a connection of its own, so that
// neither a scrape nor the supervisor's work ever waits for the answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pg/connection.hpp"
#include "settings/settings.hpp"
#include "supervisor/control/metrics.hpp"
#include "uv/loop.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class QueueSampler {
 public:
  // `may_ask`: whether the database is there, as the supervisor's own connection knows.
  QueueSampler(
      uv::Loop& loop,
      const settings::DatabaseSettings& settings,
      Metrics& metrics,
      std::function<bool()> may_ask
  );

  void start(std::vector<std::string> flow_slugs);

 private:
  void tick();
  void ask();
  void heard(const Result<pg::Rows>& rows);

  Metrics& metrics_;
  std::function<bool()> may_ask_;
  std::vector<std::string> flow_slugs_;
  bool failed_ = false;  // told once
  pg::Connection connection_;
  uv::Timer timer_;
};

}  // namespace pgflow::supervisor
