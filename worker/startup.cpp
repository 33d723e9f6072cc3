#include "worker/startup.hpp"

#include <unistd.h>

#include <memory>
#include <string_view>
#include <utility>

#include "base/proc.hpp"
#include "log/log.hpp"
#include "store/flow_store.hpp"
#include "store/migrator.hpp"
#include "store/refusal.hpp"
#include "store/worker_store.hpp"

namespace pgflow::worker {
namespace {

// One run of the sequence; lives in the callbacks of the step that is under way.
struct Start : std::enable_shared_from_this<Start> {
  Start(
      pg::Connection& c,
      const detail::WorkerPlan& p,
      const Identity& i,
      std::function<void(const Result<void>&)> d
  )
      : connection(c), plan(p), identity(i), done(std::move(d)) {}

  void refuse(Error why) { done(tl::unexpected(store::with_hint(std::move(why)))); }

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
    const store::CompileRequest request{
        .flow_slug = flow.slug,
        .shape = flow_shape(flow),
        .queue_mode = plan.mode,
        .routes = plan.routes
    };
    auto answer = [self = shared_from_this()](const Result<store::CompileOutcome>& outcome) {
      self->on_compiled(outcome);
    };
    store::FlowStore flows(connection);
    if (identity.supervised()) {
      flows.verify_compiled(request, std::move(answer));
    } else {
      flows.ensure_compiled(request, std::move(answer));
    }
  }

  void on_compiled(const Result<store::CompileOutcome>& outcome) {
    if (!outcome) return refuse(outcome.error());
    if (outcome->status == store::CompileStatus::mismatch) {
      Error why = store::mismatch_error(plan.definition->slug, *outcome);
      if (identity.supervised()) {
        why.hint =
            "It has changed since the supervisor started. In a local database the next start "
            "of the supervisor compiles it anew; elsewhere: " +
            why.hint;
      }
      return done(tl::unexpected(std::move(why)));
    }
    log::info("flow.compiled", {{"status", store::name(outcome->status)}});
    enrol();
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

}  // namespace pgflow::worker
