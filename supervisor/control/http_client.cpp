#include "supervisor/control/http_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "supervisor/control/socket_address.hpp"

namespace pgflow::supervisor {
namespace {

constexpr std::chrono::hours kForEver{24 * 365};
constexpr std::chrono::milliseconds kLongestPoll{60'000};

std::string system_text(int code) {
  return std::generic_category().message(code);
}

tl::unexpected<Error> unreachable(std::string why) {
  return tl::unexpected(
      Error{"unreachable", "The supervisor does not answer.", std::move(why) + "."}
  );
}

class Conversation {
 public:
  Conversation(UniqueFd connection, std::chrono::milliseconds limit)
      : fd_(std::move(connection)), limit_(limit), ends_at_(SteadyClock::now() + limit) {}

  Result<void> say(std::string_view text) {
    while (!text.empty()) {
      if (auto ready = wait(POLLOUT); !ready) return ready;
      const ssize_t sent = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (sent < 0) return unreachable(system_text(errno));
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  // Until the other end closes.
  Result<std::string> hear() {
    std::string text;
    for (;;) {
      auto piece = hear_piece();
      if (!piece || piece->empty()) return piece.map([&](const auto&) { return text; });
      text += *piece;
    }
  }
  // Empty: the other end has closed.
  Result<std::string> hear_piece() {
    char buffer[16 * 1024];
    for (;;) {
      if (auto ready = wait(POLLIN); !ready) return tl::unexpected(ready.error());
      const ssize_t size = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (size < 0) return unreachable(system_text(errno));
      return std::string(buffer, static_cast<std::size_t>(size));
    }
  }

 private:
  Result<void> wait(short events) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(ends_at_ - SteadyClock::now());
      const auto step = std::clamp(left, std::chrono::milliseconds{0}, kLongestPoll);
      pollfd watched{.fd = fd_.get(), .events = events, .revents = 0};
      const int ready = poll(&watched, 1, static_cast<int>(step.count()));
      if (ready > 0) return {};
      if ((ready < 0 && errno == EINTR) || step < left) continue;
      return tl::unexpected(Error{
          "no_answer",
          "The supervisor does not answer.",
          fmt::format("It took the question and was silent for {}.", human_duration(limit_))
      });
    }
  }

  UniqueFd fd_;
  const std::chrono::milliseconds limit_;
  const SteadyClock::time_point ends_at_;
};

// The next line, without its end.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 2, text.size()));
  return line;
}

Result<HttpReply> parse(std::string_view text) {
  HttpReply reply;
  const std::string_view first = take_line(text);
  const auto space = first.find(' ');
  if (!first.starts_with("HTTP/1.") || space == std::string_view::npos) {
    return unreachable("What answers there is no supervisor");
  }
  std::from_chars(first.data() + space + 1, first.data() + first.size(), reply.status);
  for (auto line = take_line(text); !line.empty(); line = take_line(text)) {
    const auto colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    while (value.starts_with(' ')) value.remove_prefix(1);
    reply.headers.emplace_back(line.substr(0, colon), value);
  }
  reply.body = text;
  return reply;
}

std::string text_of(const HttpQuestion& question, std::string_view version) {
  std::string text = fmt::format("{} {} {}\r\n", question.method, question.path, version);
  const bool names_host = std::ranges::any_of(question.headers, [](const auto& header) {
    return header.first == "Host";
  });
  if (!names_host) text += "Host: localhost\r\n";
  for (const auto& [name, value] : question.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!question.body.empty()) text += "Content-Type: application/json\r\n";
  return text + fmt::format(
                    "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
                    question.body.size(),
                    question.body
                );
}

}  // namespace

Result<UniqueFd> connect_to(const std::filesystem::path& socket) {
  const SocketAddress address(socket);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), address.get(), address.size()) != 0) {
    return unreachable(system_text(errno));
  }
  return fd;
}

Result<HttpReply> ask(
    UniqueFd connection, const HttpQuestion& question, std::chrono::milliseconds limit
) {
  Conversation conversation(std::move(connection), limit);
  if (auto said = conversation.say(text_of(question, "HTTP/1.1")); !said)
    return tl::unexpected(said.error());
  return conversation.hear().and_then([](const std::string& heard) { return parse(heard); });
}

Result<HttpReply> follow(
    UniqueFd connection,
    const HttpQuestion& question,
    const std::function<void(std::string_view)>& heard
) {
  Conversation conversation(std::move(connection), kForEver);
  // In 1.0 a body without an end comes as it is, not in chunks.
  if (auto said = conversation.say(text_of(question, "HTTP/1.0")); !said)
    return tl::unexpected(said.error());
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    const auto piece = conversation.hear_piece();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) break;
    head += *piece;
  }
  auto reply = parse(head);
  if (!reply) return reply;
  const bool goes_on = reply->status == 200;
  if (goes_on) heard(std::exchange(reply->body, {}));
  for (;;) {
    const auto piece = conversation.hear_piece();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) return reply;
    if (goes_on) {
      heard(*piece);
    } else {
      reply->body += *piece;
    }
  }
}

std::string path_part(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace pgflow::supervisor
