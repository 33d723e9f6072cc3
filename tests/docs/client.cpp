// The code of docs/client.md, which must stand there word for word.
#include <pgflow/client.hpp>

#include <cstdio>

#include "docs/pages.hpp"

using namespace pgflow;

namespace {

struct Message {
  std::string thread_id, text;
};
struct Delivered {
  std::string slack_ts;
};
const auto community_threads =
    with_step_queues(flow<"communityThreadsV1", Message>().step<"deliverSlack">([](const Message&) {
      return Delivered{"1.0"};
    }));

void use(const std::string&) {}
void log(const std::string&, const std::string&) {}
void later(const std::string&) {}

// Compiled; tests/integration/client.cpp calls the same with a database.
[[maybe_unused]] void deliver() {
  // clang-format off
pgflow::Client client;                                             // DATABASE_URL
const std::string id = client.start(community_threads, Message{"t1", "why?"});
const auto run = client.wait(community_threads, id, std::chrono::seconds(30));
if (!run.ended()) return later(id);
if (const auto delivered = run.output<"deliverSlack">()) use(delivered->slack_ts);
else log(run.error<"deliverSlack">(), run.skip_reason<"deliverSlack">());
  // clang-format on
}

}  // namespace

TEST_CASE("the code of docs/client.md is this file's", "[docs]") {
  test::check_code_of("client.md", "client.cpp", 1);
}
