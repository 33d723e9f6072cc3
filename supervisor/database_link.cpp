#include "supervisor/database_link.hpp"

#include <string>

#include "contract/environment.hpp"
#include "log/log.hpp"
#include "pg/dsn.hpp"

namespace pgflow::supervisor {
namespace {

constexpr Backoff::Limits kReconnect{
    .first = std::chrono::milliseconds(250), .most = std::chrono::seconds(3)
};

pg::ConnectionOptions options(
    const settings::DatabaseSettings& settings, std::optional<Error>& hopeless
) {
  auto dsn = pg::Dsn::parse(settings.url);
  if (!dsn) hopeless = dsn.error();
  return {
      .dsn = dsn.value_or(pg::Dsn()),
      .application_name = std::string(contract::kSupervisorApplicationName),
      .connect_timeout = settings.connect_timeout,
  };
}

}  // namespace

DatabaseLink::DatabaseLink(
    uv::Loop& loop, const settings::DatabaseSettings& settings, std::function<void()> on_change
)
    : on_change_(std::move(on_change)),
      connection_(loop, options(settings, hopeless_)),
      backoff_(kReconnect),
      timer_(loop, [this] { connect(); }) {
  connection_.on_lost([this](const Error& error) { lost(error); });
}

void DatabaseLink::start() {
  if (!hopeless_) connect();
}

void DatabaseLink::connect() {
  connection_.connect([this](const Result<void>& result) {
    if (!result) return lost(result.error());
    backoff_.reset();
    told_down_ = false;
    problem_.clear();
    changed_at_ = SteadyClock::now();
    log::info("database.up", {{"database", connection_.dsn().describe()}});
    on_change_();
  });
}

std::chrono::milliseconds DatabaseLink::state_for() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - changed_at_);
}

void DatabaseLink::lost(const Error& error) {
  timer_.start(backoff_.next());
  problem_ = error.message;
  if (told_down_) return;
  told_down_ = true;
  changed_at_ = SteadyClock::now();
  log::warn("database.down", error, {{"database", connection_.dsn().describe()}});
  on_change_();
}

}  // namespace pgflow::supervisor
