// The supervisor's one connection to the database: opened again for ever, spoken about only when
// its state changes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "pg/connection.hpp"
#include "settings/settings.hpp"
#include "uv/loop.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class DatabaseLink {
 public:
  DatabaseLink(
      uv::Loop& loop, const settings::DatabaseSettings& settings, std::function<void()> on_change
  );
  DatabaseLink(const DatabaseLink&) = delete;
  DatabaseLink& operator=(const DatabaseLink&) = delete;

  void start();
  bool up() const { return connection_.is_open(); }
  pg::Connection& connection() { return connection_; }
  int server_version() const { return connection_.server_version(); }
  // Why the first attempt will never succeed (a URL that is none); nothing while there is hope.
  const std::optional<Error>& hopeless() const { return hopeless_; }
  // Why it is not up; empty while it is, or was never tried.
  const std::string& problem() const { return problem_; }
  // How long it has been up, or not.
  std::chrono::milliseconds state_for() const;

 private:
  void connect();
  void lost(const Error& error);

  std::function<void()> on_change_;
  std::optional<Error> hopeless_;
  pg::Connection connection_;
  Backoff backoff_;
  uv::Timer timer_;
  bool told_down_ = false;
  std::string problem_;
  SteadyClock::time_point changed_at_ = SteadyClock::now();
};

}  // namespace pgflow::supervisor
