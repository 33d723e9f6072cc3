// Asks a control room one question and waits for the answer.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::supervisor {

struct HttpQuestion {
  std::string_view method = "GET";
  std::string path;  // "/v1/status"
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
};

// Error kind "unreachable": nobody listens there, or we may not connect.
Result<UniqueFd> connect_to(const std::filesystem::path& socket);

// One question a connection. Error kinds "unreachable": the other end went away; "no_answer": not
// within the limit.
Result<HttpReply> ask(
    UniqueFd connection, const HttpQuestion& question, std::chrono::milliseconds limit
);

// Hears an answer that goes on, each piece of its body as it comes, until the other end closes. An
// answer other than 200 is the reply, as above.
Result<HttpReply> follow(
    UniqueFd connection,
    const HttpQuestion& question,
    const std::function<void(std::string_view)>& heard
);

// A path's part, with everything but letters, digits, "_", "-", "." and "~" as %XX.
std::string path_part(std::string_view text);

}  // namespace pgflow::supervisor
