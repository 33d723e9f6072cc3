// Where the database is and who we are there, with a password that no text of ours ever shows.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pgflow::pg {

class Dsn {
 public:
  // A URL (postgresql://…) or keywords (host=… dbname=…). Empty: everything from PG* variables and
  // libpq's defaults.
  static Result<Dsn> parse(std::string_view text);

  Dsn() = default;
  Dsn with(std::string_view keyword, std::string_view value) const;

  // "app@db.example.org:5432/shop" or "postgres@/run/postgresql:5432/shop"; what is not given comes
  // from libpq's defaults.
  std::string describe() const;

  // The keyword form, password included: for a child's environment, never for a text that people
  // read.
  std::string secret_text() const;

  // `text` with every password of this Dsn replaced by ***.
  std::string redact(std::string text) const;

  const std::map<std::string, std::string>& options() const { return options_; }

 private:
  std::map<std::string, std::string> options_;
};

// Every occurrence of `secret` in `text` becomes ***.
std::string redact(std::string text, std::string_view secret);

}  // namespace pgflow::pg
