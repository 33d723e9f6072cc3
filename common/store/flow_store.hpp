// The definitions in the database: compile, compare, list, and which of their queues are served.
#pragma once

#include <optional>
#include <pgflow/shape.hpp>
#include <string>
#include <vector>

#include "store/answer.hpp"

namespace pgflow::store {

struct CompileRequest {
  std::string flow_slug;
  std::string shape;  // JSON text, as flow_shape() gives it
  QueueMode queue_mode = QueueMode::flow;
  std::vector<StepRoute> routes{
  };  // as resolve_routes() gives them; empty: the database's word is taken
};

enum class CompileStatus { compiled, verified, recompiled, mismatch };
enum class MismatchKind { none, shape, routing };
std::string_view name(CompileStatus status);

struct CompileOutcome {
  CompileStatus status = CompileStatus::verified;
  MismatchKind mismatch_kind = MismatchKind::none;
  std::vector<std::string> differences{};
};

// The error that a mismatch is for its worker: kind flow_shape_mismatch or flow_routing_mismatch.
Error mismatch_error(const std::string& flow_slug, const CompileOutcome& outcome);

struct FlowSummary {
  std::string slug;
  QueueMode queue_mode = QueueMode::flow;
  int steps = 0;
  std::string created_at;  // RFC 3339
};

struct RouteCoverage {
  std::string flow_slug;
  int step_index = 0;
  std::string step_slug, queue_name;
  int live_workers = 0;
  bool covered = false;
};

class FlowStore {
 public:
  explicit FlowStore(pg::Connection& connection) : connection_(connection) {}

  void ensure_compiled(const CompileRequest& request, Answer<CompileOutcome> answer);
  // The same, but never `recompiled`: others run the flow as it is.
  void verify_compiled(const CompileRequest& request, Answer<CompileOutcome> answer);
  void list(Answer<std::vector<FlowSummary>> answer);
  // Step-mode flows only; all of them, or one.
  void coverage(
      const std::optional<std::string>& flow_slug, Answer<std::vector<RouteCoverage>> answer
  );

 private:
  void ask(const pg::Query& query, const CompileRequest& request, Answer<CompileOutcome> answer);

  pg::Connection& connection_;
};

}  // namespace pgflow::store
