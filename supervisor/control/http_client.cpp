#include "supervisor/control/http_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/clock.hpp"
#include "supervisor/control/socket_address.hpp"

namespace pgflow::supervisor {
namespace {

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
    char buffer[16 * 1024];
    for (;;) {
      if (auto ready = wait(POLLIN); !ready) return tl::unexpected(ready.error());
      const ssize_t size = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (size < 0) return unreachable(system_text(errno));
      if (size == 0) return text;
      text.append(buffer, static_cast<std::size_t>(size));
    }
  }

 private:
  Result<void> wait(short events) {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(ends_at_ - SteadyClock::now()).count();
      pollfd watched{.fd = fd_.get(), .events = events, .revents = 0};
      const int ready = left <= 0 ? 0 : poll(&watched, 1, static_cast<int>(left));
      if (ready > 0) return {};
      if (ready < 0 && errno == EINTR) continue;
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
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", question.method, question.path);
  const bool names_host = std::ranges::any_of(question.headers, [](const auto& header) {
    return header.first == "Host";
  });
  if (!names_host) text += "Host: localhost\r\n";
  for (const auto& [name, value] : question.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!question.body.empty()) text += "Content-Type: application/json\r\n";
  text += fmt::format(
      "Connection: close\r\nContent-Length: {}\r\n\r\n{}", question.body.size(), question.body
  );
  Conversation conversation(std::move(connection), limit);
  if (auto said = conversation.say(text); !said) return tl::unexpected(said.error());
  return conversation.hear().and_then([](const std::string& heard) { return parse(heard); });
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
