// One connection to PostgreSQL on one loop: one query at a time, the others wait in line.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pg/dsn.hpp"
#include "pg/params.hpp"
#include "pg/rows.hpp"
#include "pg/sqlstate.hpp"
#include "uv/loop.hpp"

namespace pgflow::pg {

struct ConnectionOptions {
  Dsn dsn;
  std::string application_name{};  // wins over the Dsn's
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds query_timeout{30'000};  // 0: wait for ever
};

// A statement with a name for logs and errors. Both are constants.
struct Query {
  std::string_view name;
  std::string_view sql;
  std::chrono::milliseconds timeout = kConnectionsTimeout;
  // Asked so often that the server shall parse and plan it once for each connection. Behind a
  // pooler that lends another backend each time it is asked like any other. Not within a
  // transaction.
  bool prepared = false;

  static constexpr std::chrono::milliseconds kConnectionsTimeout{-1};
};

enum class ConnectionState { closed, connecting, idle, busy, broken };
std::string_view name(ConnectionState state);

// A failed one takes nothing but its rollback.
enum class Transaction { none, open, failed };

// Rules. Every callback comes from the loop, never from inside the call that registered it, and
// exactly once, with two exceptions: close() and the destructor forget all that wait. A callback
// may do anything, also destroy the connection. Queries of a connecting or busy connection wait
// their turn; a closed or broken connection refuses with kind connection_lost. When the connection
// breaks, all that wait get connection_lost (the one that was running may have happened), then
// on_lost is called, then the owner decides when to connect() again. COPY to or from the client
// breaks the connection, with kind copy_refused.
class Connection {
 public:
  using OnConnected = std::function<void(Result<void>)>;
  using OnRows = std::function<void(Result<Rows>)>;

  Connection(uv::Loop& loop, ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // From closed or broken.
  void connect(OnConnected done);

  void query(const Query& query, Params params, OnRows done);

  // Several statements in one text, without parameters; one transaction unless the text says
  // otherwise. Gives the last statement's rows, or the first error.
  void script(
      std::string_view name, std::string sql, std::chrono::milliseconds timeout, OnRows done
  );

  // Asks the server to stop the running query, which then ends with SQLSTATE 57014, if it has not
  // ended before.
  void cancel();

  // Leaves at once.
  void close();

  void on_lost(std::function<void(Error)> lost);
  void on_notification(
      std::function<void(std::string_view channel, std::string_view payload)> notified
  );

  ConnectionState state() const;
  bool is_open() const {
    return state() == ConnectionState::idle || state() == ConnectionState::busy;
  }
  Transaction transaction() const;  // as of the last answer
  int backend_pid() const;          // 0 unless open
  int server_version() const;       // 150004 is 15.4; 0 unless open
  const Dsn& dsn() const;

 private:
  class World;
  std::shared_ptr<World> world_;
};

}  // namespace pgflow::pg
