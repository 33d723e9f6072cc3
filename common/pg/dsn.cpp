// libpq parses; we only keep, complete and print.
#include "pg/dsn.hpp"

#include <libpq-fe.h>

#include <memory>

namespace pgflow::pg {
namespace {

using Conninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::map<std::string, std::string> given_options(const PQconninfoOption* option) {
  std::map<std::string, std::string> options;
  for (; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) options.emplace(option->keyword, option->val);
  }
  return options;
}

Error unreadable() {
  return {
      .kind = "database_url",
      .message = "The database URL cannot be read.",
      .detail = "Its text is not repeated here because it may hold a password.",
      .hint =
          "Write postgresql://USER@HOST:PORT/DATABASE or \"host=… dbname=…\"; in a URL, "
          "percent-encode special "
          "characters of the password.",
  };
}

std::string quoted(std::string_view value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text += '\'';
}

}  // namespace

Result<Dsn> Dsn::parse(std::string_view text) {
  char* problem = nullptr;
  const Conninfo info(PQconninfoParse(std::string(text).c_str(), &problem), &PQconninfoFree);
  // libpq's message repeats parts of what it was given, which may be a part of the password: not
  // shown.
  if (problem != nullptr) PQfreemem(problem);
  if (!info) return fail(unreadable());
  Dsn dsn;
  dsn.options_ = given_options(info.get());
  // "user:p@ss@host" reads as host "ss@host": the rest of a password would be shown as a host name.
  const auto host = dsn.options_.find("host");
  if (host != dsn.options_.end() && host->second.find('@', 1) != std::string::npos) {
    return fail(unreadable());
  }
  return dsn;
}

Dsn Dsn::with(std::string_view keyword, std::string_view value) const {
  Dsn copy = *this;
  copy.options_.insert_or_assign(std::string(keyword), std::string(value));
  return copy;
}

std::string Dsn::describe() const {
  const Conninfo info(PQconndefaults(), &PQconninfoFree);
  const auto defaults = info ? given_options(info.get()) : std::map<std::string, std::string>();
  const auto value = [&](const char* keyword, const char* fallback) -> std::string {
    if (const auto it = options_.find(keyword); it != options_.end()) return it->second;
    if (const auto it = defaults.find(keyword); it != defaults.end()) return it->second;
    return fallback;
  };
  const std::string user = value("user", "");
  std::string host = value("host", "");
  if (host.empty()) host = value("hostaddr", "local socket");
  const std::string port = value("port", "5432");
  return user + "@" + host + ":" + port + "/" + value("dbname", user.c_str());
}

std::string Dsn::secret_text() const {
  std::string text;
  for (const auto& [keyword, value] : options_) {
    if (!text.empty()) text += ' ';
    text += keyword + "=" + quoted(value);
  }
  return text;
}

std::string Dsn::redact(std::string text) const {
  for (const auto& [keyword, value] : options_) {
    if (keyword.find("password") != std::string::npos) text = pg::redact(std::move(text), value);
  }
  return text;
}

std::string redact(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += 3) {
    text.replace(at, secret.size(), "***");
  }
  return text;
}

}  // namespace pgflow::pg
