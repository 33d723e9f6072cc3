// pgflow.ensure_flow_compiled, verify_flow_compiled, route_coverage and the table of flows.
#include "store/flow_store.hpp"

#include "base/bug.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"
#include "store/timestamps.hpp"

namespace pgflow::store {
namespace {

constexpr pg::Query kEnsureCompiled{
    "ensure_flow_compiled",
    "select result ->> 'status', result ->> 'mismatchKind', result -> 'differences'"
    "  from pgflow.ensure_flow_compiled($1::text, $2::jsonb, $3::text, $4::jsonb) as result",
};
constexpr pg::Query kVerifyCompiled{
    "verify_flow_compiled",
    "select result ->> 'status', result ->> 'mismatchKind', result -> 'differences'"
    "  from pgflow.verify_flow_compiled($1::text, $2::jsonb, $3::text, $4::jsonb) as result",
};
constexpr pg::Query kList{
    "list_flows",
    "select f.flow_slug, f.queue_mode, count(s.step_slug), " PGFLOW_UTC("f.created_at"
    ) "  from pgflow.flows f left join pgflow.steps s using (flow_slug)"
      "  group by f.flow_slug order by f.flow_slug",
};
constexpr pg::Query kCoverage{
    "route_coverage",
    "select flow_slug, step_index, step_slug, queue_name, live_workers, covered"
    "  from pgflow.route_coverage($1::text)",
};

QueueMode queue_mode_in(std::string_view text) {
  return text == "step" ? QueueMode::step : QueueMode::flow;
}

std::string_view name(QueueMode mode) {
  return mode == QueueMode::step ? "step" : "flow";
}

std::optional<std::string> route_map(const std::vector<StepRoute>& routes) {
  if (routes.empty()) return std::nullopt;
  json::Writer writer;
  writer.begin_array();
  for (const StepRoute& route : routes) {
    writer.begin_object();
    writer.key("stepSlug").string(route.step_slug);
    writer.key("queueName").string(route.queue_name);
    writer.end_object();
  }
  writer.end_array();
  return writer.take();
}

CompileStatus status_in(std::string_view text) {
  if (text == "compiled") return CompileStatus::compiled;
  if (text == "verified") return CompileStatus::verified;
  if (text == "recompiled") return CompileStatus::recompiled;
  if (text == "mismatch") return CompileStatus::mismatch;
  PGFLOW_BUG("unknown status of ensure_flow_compiled");
}

MismatchKind mismatch_kind_in(const pg::Value& value) {
  if (value.is_null()) return MismatchKind::none;
  return value.view() == "routing" ? MismatchKind::routing : MismatchKind::shape;
}

CompileOutcome outcome_in(const pg::Rows& rows) {
  const pg::Row row = rows[0];
  CompileOutcome outcome{
      .status = status_in(row[0].view()), .mismatch_kind = mismatch_kind_in(row[1])
  };
  const auto differences = json::parse(row[2].view());
  if (!differences) PGFLOW_BUG("differences of ensure_flow_compiled are not JSON");
  for (const json::Value& difference : differences->items) {
    outcome.differences.push_back(difference.text);
  }
  return outcome;
}

}  // namespace

std::string_view name(CompileStatus status) {
  switch (status) {
    case CompileStatus::compiled:
      return "compiled";
    case CompileStatus::verified:
      return "verified";
    case CompileStatus::recompiled:
      return "recompiled";
    case CompileStatus::mismatch:
      return "mismatch";
  }
  return "mismatch";
}

Error mismatch_error(const std::string& flow_slug, const CompileOutcome& outcome) {
  const bool routing = outcome.mismatch_kind == MismatchKind::routing;
  std::string differences;
  for (const std::string& difference : outcome.differences) {
    if (!differences.empty()) differences += "; ";
    differences += difference;
  }
  return {
      .kind = routing ? "flow_routing_mismatch" : "flow_shape_mismatch",
      .message = "Flow \"" + flow_slug + "\" in the database has " +
                 (routing ? "other queues" : "another shape") + " than this program.",
      .detail = differences,
      .hint =
          "A compiled flow never changes: give the new definition a new slug, for example with the "
          "next version "
          "number.",
  };
}

void FlowStore::ensure_compiled(const CompileRequest& request, Answer<CompileOutcome> answer) {
  ask(kEnsureCompiled, request, std::move(answer));
}

void FlowStore::verify_compiled(const CompileRequest& request, Answer<CompileOutcome> answer) {
  ask(kVerifyCompiled, request, std::move(answer));
}

void FlowStore::ask(
    const pg::Query& query, const CompileRequest& request, Answer<CompileOutcome> answer
) {
  connection_.query(
      query,
      {request.flow_slug, request.shape, name(request.queue_mode), route_map(request.routes)},
      reading(outcome_in, std::move(answer))
  );
}

void FlowStore::list(Answer<std::vector<FlowSummary>> answer) {
  connection_.query(
      kList,
      {},
      reading_each(
          [](const pg::Row& row) {
            return FlowSummary{
                .slug = row[0].text(),
                .queue_mode = queue_mode_in(row[1].view()),
                .steps = row[2].integer(),
                .created_at = row[3].text(),
            };
          },
          std::move(answer)
      )
  );
}

void FlowStore::coverage(
    const std::optional<std::string>& flow_slug, Answer<std::vector<RouteCoverage>> answer
) {
  connection_.query(
      kCoverage,
      {flow_slug},
      reading_each(
          [](const pg::Row& row) {
            return RouteCoverage{
                .flow_slug = row[0].text(),
                .step_index = row[1].integer(),
                .step_slug = row[2].text(),
                .queue_name = row[3].text(),
                .live_workers = row[4].integer(),
                .covered = row[5].boolean(),
            };
          },
          std::move(answer)
      )
  );
}

}  // namespace pgflow::store
