// A worker of typed handlers for the flow shellV1, whose step `work` returns its input, or what an
// input {"act": …} asks for.
#include <pgflow/main.hpp>

#include <stdexcept>
#include <string>

using namespace pgflow;

namespace {

Json work(const Json& input) {
  const auto asks_for = [&](const char* act) {
    return input.text == R"({"act":")" + std::string(act) + "\"}";
  };
  if (asks_for("nul")) return {R"({"x":"a\u0000b"})"};
  if (asks_for("nul key")) return {R"({"a\u0000b":1})"};
  if (asks_for("surrogate")) return {R"("\ud800")"};
  if (asks_for("bytes")) return {"\"\xff\""};
  if (asks_for("deep")) return {std::string(10'000, '[') + std::string(10'000, ']')};
  if (asks_for("number")) return {"123456789012345678901234567890.5"};
  if (asks_for("half")) return {R"({"x":)"};
  if (asks_for("shout"))
    throw std::runtime_error(std::string("\xff\0\x1b", 3) + std::string(5'000'000, '\xc3'));
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  return pgflow::main(
      argc,
      argv,
      with_step_queues(flow<"shellV1", Json>().step<"work">(
          {.max_attempts = 1, .timeout = std::chrono::minutes(10)}, work
      ))
  );
}
