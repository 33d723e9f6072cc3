#include "worker/startup.hpp"

#include <unistd.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "log/log.hpp"
#include "store/flow_store.hpp"
#include "store/migrator.hpp"
#include "store/worker_store.hpp"

namespace pgflow::worker {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// One run of the sequence; lives in the callbacks of the step that is under way.
struct Start : std::enable_shared_from_this<Start> {
  Start(
      pg::Connection& c,
      const detail::WorkerPlan& p,
      const Identity& i,
      std::function<void(const Result<void>&)> d
  )
      : connection(c), plan(p), identity(i), done(std::move(d)) {}

  void refuse(Error why) {
    if (why.sqlstate == "42501" && why.hint.empty()) {
      why.hint = "Grant the worker's role what it needs: `pgflow sql roles`, docs/roles.md.";
    }
    done(tl::unexpected(std::move(why)));
  }

  void check_schema() {
    store::Migrator(connection)
        .status([self = shared_from_this()](const Result<store::SchemaStatus>& status) {
          if (!status) return self->refuse(status.error());
          if (auto problem = store::schema_problem(*status))
            return self->done(tl::unexpected(std::move(*problem)));
          self->compile();
        });
  }

  void compile() {
    const FlowDefinition& flow = *plan.definition;
    store::FlowStore(connection)
        .ensure_compiled(
            {.flow_slug = flow.slug,
             .shape = flow_shape(flow),
             .queue_mode = plan.mode,
             .routes = plan.routes},
            [self = shared_from_this()](const Result<store::CompileOutcome>& outcome) {
              if (!outcome) return self->refuse(outcome.error());
              const std::string& slug = self->plan.definition->slug;
              if (outcome->status == store::CompileStatus::mismatch) {
                return self->done(tl::unexpected(store::mismatch_error(slug, *outcome)));
              }
              log::info("flow.compiled", {{"status", store::name(outcome->status)}});
              self->enrol();
            }
        );
  }

  void enrol() {
    store::WorkerStore(connection)
        .register_worker(
            {.worker_id = identity.worker_id,
             .queue_name = plan.queue_name,
             .function_name = identity.function_name,
             .pid = static_cast<int>(::getpid()),
             .host_id = host_name(),
             .revision = identity.revision},
            [self = shared_from_this()](const Result<void>& registered) {
              if (!registered) return self->refuse(registered.error());
              self->done({});
            }
        );
  }

  pg::Connection& connection;
  const detail::WorkerPlan& plan;
  const Identity& identity;
  const std::function<void(const Result<void>&)> done;
};

}  // namespace

void start_up(
    pg::Connection& connection,
    const detail::WorkerPlan& plan,
    const Identity& identity,
    std::function<void(const Result<void>&)> done
) {
  std::make_shared<Start>(connection, plan, identity, std::move(done))->check_schema();
}

ExitCode exit_code_of(const Error& error) {
  const std::string_view sqlstate = error.sqlstate;
  if (sqlstate == "42501" || sqlstate.starts_with("28")) return ExitCode::no_permission;
  // The server's own troubles, which another try may find gone.
  if (sqlstate.starts_with("XX") || sqlstate.starts_with("58")) return ExitCode::internal;
  // All else is about what this program and this database are to each other.
  return ExitCode::config;
}

}  // namespace pgflow::worker
