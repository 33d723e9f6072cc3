// testing::run_flow: plays the supervisor of a few workers that are threads of this process.
#include <sys/socket.h>

#include <array>
#include <deque>
#include <thread>
#include <utility>

#include <pgflow/testing.hpp>

#include "base/unique_fd.hpp"
#include "contract/environment.hpp"
#include "contract/messages.hpp"
#include "log/log.hpp"
#include "uv/loop.hpp"
#include "worker/environment.hpp"
#include "worker/handler_sql.hpp"
#include "worker/worker.hpp"

namespace pgflow::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kRunLimit = 60s;
// What a handler that still runs after the limit gets to notice its stop token.
constexpr auto kDrainLimit = 1s;

// One worker on its thread, and our end of its socket.
class Guest {
 public:
  Guest(pgflow::detail::WorkerPlan plan, const pg::Dsn& dsn) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw Exception({.kind = "testing", .message = "No socket for a worker of this test."});
    }
    mine_.reset(ends[0]);
    its_.reset(ends[1]);
    worker::Identity identity{
        .worker_id = WorkerId::random(),
        .function_name = "test:" + plan.queue_name,
        .supervisor_socket = its_.get(),
        .revision = {},
        .guest = true
    };
    const int concurrency = plan.config.max_concurrent;
    plan.resources.each_thread.push_back(
        handler_sql(dsn, std::string(contract::kWorkerApplicationName) + identity.worker_id.text())
    );
    thread_ = std::thread([plan = std::move(plan), identity = std::move(identity), dsn]() mutable {
      uv::Loop loop;
      worker::Worker(loop, std::move(plan), std::move(identity), dsn).run();
    });
    say(contract::Welcome{.generation = "test", .concurrency = concurrency});
  }

  ~Guest() {
    say(contract::Drain{
        .deadline_milliseconds = std::chrono::milliseconds(kDrainLimit).count(),
        .reason = "the test's run has ended"
    });
    while (const auto message = hear()) {
      if (std::holds_alternative<contract::Drained>(*message)) break;
    }
    thread_.join();
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  void await_ready() {
    while (const auto message = hear()) {
      if (std::holds_alternative<contract::Ready>(*message)) return;
      if (const auto* fatal = std::get_if<contract::Fatal>(&*message)) {
        throw Exception({fatal->code, fatal->message, fatal->detail, fatal->hint});
      }
    }
  }

 private:
  void say(const contract::FromSupervisor& message) const {
    const std::string packet = contract::encode(message);
    ::send(mine_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  }
  // The next message; nothing when the worker has gone or said its last word.
  std::optional<contract::FromWorker> hear() const {
    std::string packet(contract::kMaxPacketBytes, '\0');
    const ssize_t size = ::recv(mine_.get(), packet.data(), packet.size(), 0);
    if (size <= 0) return std::nullopt;
    packet.resize(static_cast<std::size_t>(size));
    auto message = contract::decode_from_worker(packet);
    if (!message) throw Exception(std::move(message).error());
    return std::move(*message);
  }

  UniqueFd mine_;
  UniqueFd its_;
  std::thread thread_;
};

}  // namespace

pgflow::detail::RunSnapshot detail::run_flow(
    const Database& database,
    const std::shared_ptr<const FlowDefinition>& definition,
    const std::vector<StepRoute>* routes,
    const std::string& input,
    const pgflow::detail::Resources& resources
) {
  const auto level = log::parse_level(first_set({"PGFLOW_LOG_LEVEL", "EDGE_WORKER_LOG_LEVEL"}));
  log::init({.level = level.value_or(log::Level::warn), .component = "test"});
  const auto dsn = pg::Dsn::parse(database.connection_string());
  if (!dsn) throw Exception(dsn.error());

  // In step mode one a step, otherwise one.
  std::vector<std::optional<std::string>> selections;
  for (const auto& step : definition->steps) {
    if (routes) selections.emplace_back(step->slug);
  }
  if (!routes) selections.emplace_back();

  std::deque<Guest> workers;
  for (const auto& selection : selections) {
    workers.emplace_back(
        pgflow::detail::plan_worker(definition, routes, selection, {}, resources), *dsn
    );
  }
  for (Guest& worker : workers) worker.await_ready();
  Client client(database.connection_string());
  return pgflow::detail::run_to_end(client, *definition, input, kRunLimit);
}

}  // namespace pgflow::testing
