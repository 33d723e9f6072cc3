// A definition as the JSON texts that leave the process: the shape for SQL, the manifest for the
// supervisor.
#include <algorithm>

#include <pgflow/shape.hpp>

#include "flow/fingerprint.hpp"
#include "json/writer.hpp"

namespace pgflow {
namespace {

using json::Writer;

// The language of the manifest; readers refuse a higher one.
constexpr int kManifestVersion = 1;
// The language between worker and supervisor.
constexpr int kProtocol = 1;

enum class Options { written, left_out };

std::string_view name_of(SkipMode mode) {
  switch (mode) {
    case SkipMode::fail:
      return "fail";
    case SkipMode::skip:
      return "skip";
    case SkipMode::skip_cascade:
      return "skip-cascade";
  }
  return "";
}

void write_handler(Writer& out, HandlerKind kind) {
  out.begin_object().key("kind").string(kind == HandlerKind::native ? "native" : "command");
  if (kind == HandlerKind::process_per_task) out.key("mode").string("process-per-task");
  if (kind == HandlerKind::persistent) out.key("mode").string("persistent");
  out.end_object();
}

std::string_view name_of(QueueMode mode) {
  return mode == QueueMode::step ? "step" : "flow";
}

void write_options(Writer& out, const StepOptions& options) {
  const bool any =
      options.max_attempts || options.base_delay || options.timeout || options.start_delay;
  if (!any) {
    return;
  }
  const auto seconds = [&](std::string_view key, const std::optional<std::chrono::seconds>& value) {
    if (value) {
      out.key(key).integer(value->count());
    }
  };
  out.key("options").begin_object();
  if (options.max_attempts) {
    out.key("maxAttempts").integer(*options.max_attempts);
  }
  seconds("baseDelay", options.base_delay);
  seconds("timeout", options.timeout);
  seconds("startDelay", options.start_delay);
  out.end_object();
}

void write_pattern(Writer& out, std::string_view key, const std::optional<std::string>& pattern) {
  out.key(key).begin_object().key("defined").boolean(pattern.has_value());
  if (pattern) {
    out.key("value").raw(*pattern);
  }
  out.end_object();
}

void write_shape_step(Writer& out, const StepDefinition& step, Options options) {
  std::vector<std::string> dependencies = step.depends_on;
  std::sort(dependencies.begin(), dependencies.end());
  out.begin_object();
  out.key("slug").string(step.slug);
  out.key("stepType").string(step.kind == StepKind::map ? "map" : "single");
  out.key("dependencies").begin_array();
  for (const std::string& dependency : dependencies) {
    out.string(dependency);
  }
  out.end_array();
  out.key("whenUnmet").string(name_of(step.when_unmet));
  out.key("whenExhausted").string(name_of(step.when_exhausted));
  write_pattern(out, "requiredInputPattern", step.run_if);
  write_pattern(out, "forbiddenInputPattern", step.run_if_not);
  if (options == Options::written) {
    write_options(out, step.options);
  }
  out.end_object();
}

void write_shape(Writer& out, const FlowDefinition& flow, Options options) {
  out.begin_object().key("steps").begin_array();
  for (const auto& step : flow.steps) {
    write_shape_step(out, *step, options);
  }
  out.end_array();
  if (options == Options::written) {
    write_options(
        out, {flow.options.max_attempts, flow.options.base_delay, flow.options.timeout, {}}
    );
  }
  out.end_object();
}

void write_routes(Writer& out, const std::vector<StepRoute>& routes) {
  out.begin_array();
  for (const StepRoute& route : routes) {
    out.begin_object();
    out.key("stepSlug").string(route.step_slug);
    out.key("stepIndex").integer(static_cast<std::int64_t>(route.step_index));
    out.key("queueName").string(route.queue_name);
    out.end_object();
  }
  out.end_array();
}

void write_manifest_step(Writer& out, const StepDefinition& step) {
  out.begin_object();
  out.key("slug").string(step.slug);
  out.key("handler");
  write_handler(out, step.handler_kind);
  out.key("needs").begin_array();
  for (const std::string_view need : step.needs) {
    out.string(need);
  }
  out.end_array();
  out.key("needsFlowInput").boolean(step.needs_flow_input);
  out.key("inputSchema").raw(step.input_schema());
  out.key("outputSchema").raw(step.output_schema());
  out.end_object();
}

// What two processes must agree on to serve the same flow: everything that SQL compares.
std::string fingerprint(
    const FlowDefinition& flow, QueueMode mode, const std::vector<StepRoute>& routes
) {
  Writer out;
  out.begin_object().key("queueMode").string(name_of(mode)).key("routes");
  write_routes(out, routes);
  out.key("shape");
  write_shape(out, flow, Options::left_out);
  out.end_object();
  return "sha256:" + sha256_hex(out.take());
}

}  // namespace

std::string flow_shape(const FlowDefinition& flow) {
  Writer out;
  write_shape(out, flow, Options::written);
  return out.take();
}

std::string manifest(const FlowDefinition& flow, QueueMode mode) {
  const std::vector<StepRoute> routes = resolve_routes(flow, mode);
  Writer out;
  out.begin_object();
  out.key("pgflowManifest").integer(kManifestVersion);
  out.key("flowSlug").string(flow.slug);
  out.key("queueMode").string(name_of(mode));
  out.key("routes");
  write_routes(out, routes);
  out.key("shape");
  write_shape(out, flow, Options::written);
  out.key("inputSchema").raw(flow.input_schema());
  out.key("steps").begin_array();
  for (const auto& step : flow.steps) {
    write_manifest_step(out, *step);
  }
  out.end_array();
  out.key("fingerprint").string(fingerprint(flow, mode, routes));
  out.key("pgflowVersion").string(PGFLOW_VERSION);
  out.key("protocol").integer(kProtocol);
  out.end_object();
  return out.take();
}

}  // namespace pgflow
