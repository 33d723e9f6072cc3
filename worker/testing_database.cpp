// testing::Database: a server of its own or a place on another one, with the schema installed.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include <pgflow/testing.hpp>

#include "base/exec_shim.hpp"
#include "base/strong.hpp"
#include "local_pg/background_server.hpp"
#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "store/migrator.hpp"
#include "uv/loop.hpp"

namespace pgflow::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerLimit = 60s;

// The private server's process begins as this very program (base/exec_shim.hpp), which has a main
// of its own and no verb for that: caught before it.
__attribute__((constructor)) void become_server(int argc, char** argv) {
  if (argc > 1 && argv[1] == kExecVerb) ::_exit(exec_shim_main(argc, argv));
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw Exception(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// One connection for a few words.
class Line {
 public:
  explicit Line(const pg::Dsn& dsn)
      : connection_(loop_, {.dsn = dsn, .application_name = "pgflow-testing"}) {
    value_or_throw(pg::await<void>(loop_, kAnswerLimit, [&](auto done) {
      connection_.connect(std::move(done));
    }));
  }
  void script(const std::string& sql) {
    value_or_throw(pg::await<pg::Rows>(loop_, kAnswerLimit, [&](auto done) {
      connection_.script("testing", sql, kAnswerLimit, std::move(done));
    }));
  }
  void install_schema() {
    store::Migrator migrator(connection_);
    value_or_throw(pg::await<store::UpReport>(loop_, kAnswerLimit, [&](auto done) {
      migrator.up(std::move(done));
    }));
  }

 private:
  uv::Loop loop_;
  pg::Connection connection_;
};

}  // namespace

class Database::Engine {
 public:
  Engine() {
    const std::string root = fmt::format("/tmp/pgflow-testing-{}", RunId::random().text());
    server_.emplace(local_pg::Options{.root = root, .ephemeral = true});
    const auto started = value_or_throw(server_->started().get());
    text_ = started.endpoint.conninfo();
    Line(value_or_throw(pg::Dsn::parse(text_))).install_schema();
  }

  explicit Engine(std::string_view server) : host_(value_or_throw(pg::Dsn::parse(server))) {
    std::string name = "pgflow_testing_" + RunId::random().text();
    std::erase(name, '-');
    Line(*host_).script("create database " + name);
    name_ = std::move(name);
    const pg::Dsn mine = host_->with("dbname", name_);
    text_ = mine.secret_text();
    try {
      Line(mine).install_schema();
    } catch (...) {
      drop();
      throw;
    }
  }

  ~Engine() { drop(); }

  const std::string& text() const { return text_; }

 private:
  void drop() noexcept {
    if (name_.empty()) return;
    try {
      Line(*host_).script("drop database if exists " + std::exchange(name_, "") + " with (force)");
    } catch (const Exception&) {
      // The server is gone; what is left there is its owner's.
    }
  }

  std::optional<local_pg::BackgroundServer> server_;
  std::optional<pg::Dsn> host_;
  std::string name_;  // on host_, as long as it is to be dropped
  std::string text_;
};

Database::Database() : engine_(std::make_unique<Engine>()) {}
Database::Database(std::string_view server) : engine_(std::make_unique<Engine>(server)) {}
Database::~Database() = default;

const std::string& Database::connection_string() const {
  return engine_->text();
}

}  // namespace pgflow::testing
