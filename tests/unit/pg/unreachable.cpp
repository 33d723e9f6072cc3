// A connection that cannot be made: nobody there, nobody answers, somebody says no.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "base/unique_fd.hpp"
#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace pgflow;

namespace {

// Listens on 127.0.0.1. With `refusal` it asks for a password and answers with it; else it accepts
// nothing.
class FakeServer {
 public:
  FakeServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket_.get(), 8) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~FakeServer() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }

  const std::string& port() const { return port_; }

  void refuse_with(std::string sqlstate) {
    thread_ = std::thread([this, sqlstate] {
      const UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::array<char, 4096> buffer{};
      if (::recv(client.get(), buffer.data(), buffer.size(), 0) <= 0) return;
      const std::string ask("R\0\0\0\x08\0\0\0\x03", 9);  // AuthenticationCleartextPassword
      if (::send(client.get(), ask.data(), ask.size(), MSG_NOSIGNAL) <= 0) return;
      const ssize_t got = ::recv(client.get(), buffer.data(), buffer.size(), 0);
      if (got < 6) return;
      const std::string password(buffer.data() + 5, static_cast<std::size_t>(got) - 6);
      std::string body = "SFATAL";
      body += '\0';
      body += "VFATAL";
      body += '\0';
      body += "C" + sqlstate;
      body += '\0';
      body += "Mno entry with " + password;
      body += '\0';
      body += '\0';
      std::string message = "E";
      const auto length = static_cast<std::uint32_t>(body.size() + 4);
      for (int shift = 24; shift >= 0; shift -= 8)
        message += static_cast<char>(length >> shift & 0xff);
      message += body;
      ::send(client.get(), message.data(), message.size(), MSG_NOSIGNAL);
    });
  }

 private:
  UniqueFd socket_;
  std::string port_;
  std::thread thread_;
};

Result<void> try_connecting(
    uv::Loop& loop, const std::string& dsn, std::chrono::milliseconds limit = 5s
) {
  pg::Connection connection(loop, {.dsn = pg::Dsn::parse(dsn).value(), .connect_timeout = limit});
  bool inside = true;
  auto result = pg::await<void>(loop, 30s, [&](auto done) {
    connection.connect([&inside, done](Result<void> connected) {
      CHECK_FALSE(inside);
      done(std::move(connected));
    });
    inside = false;
  });
  CHECK(connection.state() == pg::ConnectionState::broken);
  return result;
}

const std::string kTcp = "sslmode=disable gssencmode=disable user=app password=s3cret dbname=shop ";

}  // namespace

TEST_CASE(
    "nobody listens: the error names the place, not the password, and may pass", "[pg][connection]"
) {
  uv::Loop loop;
  const auto dsn = GENERATE(
      as<std::string>(), "host=/nonexistent password=s3cret", kTcp + "host=127.0.0.1 port=1"
  );
  const auto result = try_connecting(loop, dsn);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == pg::kConnectionFailed);
  CHECK(pg::is_database_down(result.error()));
  CHECK(
      result.error().message.find(
          dsn.find("nonexistent") != std::string::npos ? "/nonexistent" : "app@127.0.0.1:1/shop"
      ) != std::string::npos
  );
  CHECK_FALSE(result.error().hint.empty());
  CHECK(result.error().text().find("s3cret") == std::string::npos);
}

TEST_CASE("a server that never answers is given up in time", "[pg][connection]") {
  uv::Loop loop;
  const FakeServer server;
  const auto result = try_connecting(loop, kTcp + "host=127.0.0.1 port=" + server.port(), 100ms);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == pg::kConnectionFailed);
  CHECK(result.error().detail == "no answer within 100ms");
  CHECK(pg::is_database_down(result.error()));
}

TEST_CASE(
    "a refusal by name keeps its SQLSTATE, does not pass, and hides the password",
    "[pg][connection]"
) {
  uv::Loop loop;
  FakeServer server;
  server.refuse_with("28P01");
  // The name is resolved off the loop first.
  const auto result =
      try_connecting(loop, kTcp + "host=localhost hostaddr='' port=" + server.port());
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == pg::kConnectionFailed);
  CHECK(result.error().sqlstate == "28P01");
  CHECK_FALSE(pg::is_transient(result.error()));
  CHECK(result.error().detail.find("no entry with ***") != std::string::npos);
  CHECK(result.error().text().find("s3cret") == std::string::npos);
}

TEST_CASE("a password from the environment is hidden, too", "[pg][connection]") {
  uv::Loop loop;
  FakeServer server;
  server.refuse_with("53300");
  ::setenv("PGPASSWORD", "fromenv", 1);
  const auto result = try_connecting(
      loop,
      "sslmode=disable gssencmode=disable user=app dbname=shop host=127.0.0.1 port=" + server.port()
  );
  ::unsetenv("PGPASSWORD");
  REQUIRE_FALSE(result);
  CHECK(pg::is_database_down(result.error()));
  CHECK(result.error().text().find("fromenv") == std::string::npos);
}

TEST_CASE("a host that has no address is an error, not a hang", "[pg][connection]") {
  uv::Loop loop;
  const auto result = try_connecting(loop, kTcp + "host=no-such-host.invalid port=1");
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == pg::kConnectionFailed);
}

TEST_CASE("a connection may be destroyed while it is connecting", "[pg][connection]") {
  uv::Loop loop;
  const FakeServer server;
  const auto host = GENERATE(as<std::string>(), "127.0.0.1", "localhost");
  {
    pg::Connection connection(
        loop, {.dsn = pg::Dsn::parse(kTcp + "host=" + host + " port=" + server.port()).value()}
    );
    connection.connect([](Result<void>) { FAIL("called after the end"); });
    loop.poll();
  }
  loop.poll();
}
