// Where the database is, which errors pass, and that passwords stay unseen.
#include "pg/dsn.hpp"

#include "pg/params.hpp"
#include "pg/sqlstate.hpp"
#include "support/catch.hpp"

using pgflow::pg::Dsn;
using pgflow::pg::Param;
using pgflow::pg::Remedy;

TEST_CASE("a URL and keywords say the same", "[pg][dsn]") {
  const auto url =
      Dsn::parse("postgresql://app:s3cret@db.example.org:6543/shop?sslmode=require").value();
  const auto keywords =
      Dsn::parse(
          "host=db.example.org port=6543 user=app password=s3cret dbname=shop sslmode=require"
      )
          .value();
  CHECK(url.options() == keywords.options());
  CHECK(url.describe() == "app@db.example.org:6543/shop");
}

TEST_CASE("a description has no password, the secret text has it and reads back", "[pg][dsn]") {
  const auto dsn = Dsn::parse("postgresql://app:it%27s%20%5C@/shop?host=/run/pg").value();
  CHECK(dsn.describe() == "app@/run/pg:5432/shop");
  CHECK(dsn.options().at("password") == "it's \\");
  CHECK(Dsn::parse(dsn.secret_text()).value().options() == dsn.options());
  CHECK(dsn.redact("failed: it's \\ twice it's \\") == "failed: *** twice ***");
}

TEST_CASE("a keyword can be replaced", "[pg][dsn]") {
  const auto dsn = Dsn::parse("postgresql://app@db/shop").value();
  CHECK(dsn.with("dbname", "other").describe() == "app@db:5432/other");
  CHECK(dsn.describe() == "app@db:5432/shop");
}

TEST_CASE("an unreadable URL is refused without repeating any of it", "[pg][dsn]") {
  const auto text = GENERATE(
      as<std::string>(),
      "postgresql://app:s3cret%zz@db/shop",
      "postgresql://app:pa@s3cret@db/shop",
      "password=a s3cret host=db",
      "host=db s3cret",
      "postgresql://app:s3cret@db:5432:5432/shop?s3cret"
  );
  const auto dsn = Dsn::parse(text);
  REQUIRE_FALSE(dsn);
  CHECK(dsn.error().kind == "database_url");
  CHECK_FALSE(dsn.error().hint.empty());
  CHECK(dsn.error().text().find("s3cret") == std::string::npos);
}

TEST_CASE("one table says which errors pass", "[pg][sqlstate]") {
  const auto remedy = [](const char* kind, const char* sqlstate) {
    return pgflow::pg::remedy({.kind = kind, .message = "m", .sqlstate = sqlstate});
  };
  for (const char* sqlstate : {"08006", "08P01", "57P01", "57P02", "57P03", "53300", "25006"}) {
    CHECK(remedy("database_error", sqlstate) == Remedy::reconnect);
  }
  for (const char* sqlstate : {"40001", "40P01"}) {
    CHECK(remedy("database_error", sqlstate) == Remedy::again);
  }
  for (const char* sqlstate : {"23505", "P0001", "42P01", "28P01", "57014", ""}) {
    CHECK(remedy("database_error", sqlstate) == Remedy::none);
  }
  CHECK(remedy("connection_lost", "") == Remedy::reconnect);
  CHECK(remedy("connection_lost", "XX000") == Remedy::reconnect);
  CHECK(remedy("connection_failed", "") == Remedy::reconnect);
  CHECK(remedy("connection_failed", "28P01") == Remedy::none);
  CHECK(remedy("connection_failed", "57P03") == Remedy::reconnect);
}

TEST_CASE("parameters become PostgreSQL's texts", "[pg][params]") {
  CHECK(Param(true).text() == "t");
  CHECK(Param(-7).text() == "-7");
  CHECK(Param(pgflow::MessageId(9007199254740993)).text() == "9007199254740993");
  CHECK(Param(std::nullopt).text() == std::nullopt);
  CHECK(Param(std::optional<int>()).text() == std::nullopt);
  CHECK(Param(std::optional<int>(3)).text() == "3");
  const std::vector<pgflow::MessageId> ids = {pgflow::MessageId(1), pgflow::MessageId(2)};
  CHECK(Param::array(ids).text() == "{1,2}");
  CHECK(Param::array(std::vector<pgflow::MessageId>()).text() == "{}");
  const std::vector<std::string> texts = {"a", "", "NULL", R"(say "hi" \ {,})"};
  CHECK(Param::array(texts).text() == R"({"a","","NULL","say \"hi\" \\ {,}"})");
}
