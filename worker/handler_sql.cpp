#include "worker/handler_sql.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "uv/loop.hpp"
#include "uv/mailbox.hpp"
#include "uv/timer.hpp"

namespace pgflow {
namespace {

using namespace std::chrono_literals;

// Beyond the connection's own limit, which tells better what happened.
constexpr auto kConnectLimit = 1min;
// A server that does not even answer a cancelled statement is given up.
constexpr auto kCancelGrace = 5s;

// Statements may end in a semicolon, which a subquery may not.
std::string_view without_semicolon(std::string_view statement) {
  const auto last = statement.find_last_not_of("; \t\r\n");
  return statement.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// What a thread keeps once a handler has asked something. Handler thread only.
class Session {
 public:
  Session(pg::Dsn dsn, std::string application_name)
      : connection_(
            loop_,
            {.dsn = std::move(dsn),
             .application_name = std::move(application_name),
             // A statement ends with its step's deadline.
             .query_timeout = 0ms}
        ),
        stopped_(loop_, [this] { cancel(); }),
        give_up_(loop_, [this] { given_up_ = true; }) {}

  // Opens the connection when it has to; in the middle of a transaction a new one is no use.
  pg::Rows ask(const pg::Query& query, pg::Params params, std::stop_token stop, bool may_open) {
    // What happened to an idle connection is seen now: the server's last words, then the end.
    loop_.poll();
    loop_.poll();
    if (!connection_.is_open()) {
      if (!may_open)
        throw SqlError(lost("The connection was lost in the middle of a transaction."));
      open();
    }
    std::optional<Result<pg::Rows>> answer;
    connection_.query(query, std::move(params), [&](Result<pg::Rows> result) {
      answer.emplace(std::move(result));
    });
    {
      // Calls back at once when the stop is older than the statement.
      const std::stop_callback on_stop(std::move(stop), [this] { stopped_.ring(); });
      while (!answer && !given_up_) loop_.run_once();
    }
    give_up_.stop();
    // A cancellation may still be under way: it must not meet the next statement.
    if (std::exchange(cancelled_, false)) connection_.close();
    if (std::exchange(given_up_, false)) {
      answer.emplace(fail(lost("The database does not answer, not even to a cancellation.")));
    }
    if (!*answer) throw SqlError(std::move(*answer).error());
    return std::move(**answer);
  }

  pg::Transaction transaction() const { return connection_.transaction(); }
  void close() { connection_.close(); }

 private:
  static Error lost(std::string message) {
    return {.kind = pg::kConnectionLost, .message = std::move(message)};
  }

  void open() {
    const Result<void> opened = pg::await<void>(loop_, kConnectLimit, [&](auto done) {
      connection_.connect(std::move(done));
    });
    if (!opened) throw SqlError(opened.error());
  }

  void cancel() {
    if (connection_.state() != pg::ConnectionState::busy) return;  // a ring from before
    connection_.cancel();
    cancelled_ = true;
    give_up_.start(kCancelGrace);
  }

  uv::Loop loop_;
  pg::Connection connection_;
  uv::Doorbell stopped_;
  uv::Timer give_up_;
  bool cancelled_ = false;
  bool given_up_ = false;
};

class HandlerSql : public Sql {
 public:
  HandlerSql(pg::Dsn dsn, std::string application_name)
      : dsn_(std::move(dsn)), application_name_(std::move(application_name)) {}

  void serve(std::stop_token stop) override {
    stop_ = std::move(stop);
    in_transaction_ = false;
    // What an earlier task began by hand and left open is no business of this one.
    if (session_ && session_->transaction() != pg::Transaction::none) session_->close();
  }

 protected:
  std::vector<std::string> fetch(
      std::string_view statement, const std::vector<std::optional<std::string>>& arguments
  ) override {
    // The line break ends a comment in the statement's last line.
    const std::string wrapped =
        "with q as (" + std::string(without_semicolon(statement)) + "\n) select to_jsonb(q) from q";
    std::vector<std::string> rows;
    for (const pg::Row row : ask(wrapped, arguments)) rows.push_back(row[0].text());
    return rows;
  }

  long change(std::string_view statement, const std::vector<std::optional<std::string>>& arguments)
      override {
    return ask(statement, arguments).affected();
  }

  void begin() override {
    if (in_transaction_) {
      throw SqlError(
          {.kind = "transaction_open",
           .message = "A transaction of this handler is open already.",
           .hint = "Use one transaction(), or savepoints inside of it."}
      );
    }
    ask("begin", {});
    in_transaction_ = true;
  }

  void commit() override {
    // PostgreSQL would take it, roll back, and say nothing.
    if (session_->transaction() == pg::Transaction::failed) {
      throw SqlError(
          {.kind = "transaction_failed",
           .message = "A statement of this transaction has failed, so it cannot be committed.",
           .hint = "Let the SqlError pass, or catch it outside of transaction()."}
      );
    }
    ask("commit", {});
    in_transaction_ = false;
  }

  void rollback() noexcept override {
    in_transaction_ = false;
    if (session_->transaction() == pg::Transaction::none) return;
    try {
      if (stop_.stop_requested()) return session_->close();  // there is no time to ask
      ask("rollback", {});
    } catch (...) {
      session_->close();  // ends the transaction as well
    }
  }

 private:
  pg::Rows ask(
      std::string_view statement, const std::vector<std::optional<std::string>>& arguments
  ) {
    if (!session_) session_ = std::make_unique<Session>(dsn_, application_name_);
    pg::Params params(arguments.begin(), arguments.end());
    return session_->ask(
        {.name = "handler", .sql = statement}, std::move(params), stop_, !in_transaction_
    );
  }

  const pg::Dsn dsn_;
  const std::string application_name_;
  std::unique_ptr<Session> session_;
  std::stop_token stop_;
  bool in_transaction_ = false;
};

}  // namespace

detail::Factory handler_sql(pg::Dsn dsn, std::string application_name) {
  return {
      detail::resource_key<Sql>(),
      [dsn = std::move(dsn), name = std::move(application_name)]() -> std::shared_ptr<void> {
        const std::shared_ptr<Sql> sql = std::make_shared<HandlerSql>(dsn, name);
        return {sql, sql.get()};  // the address that a handler's Sql& is made of
      }
  };
}

}  // namespace pgflow
