// The rows of the flow file's format.
#include "worker/flow_file.hpp"

namespace pgflow::worker {
namespace {

using settings::Key;
using settings::Kind;

constexpr double kLargest = 2'147'483'647;
constexpr double kMost = 10'000;
constexpr double kSecond = 1'000;
constexpr double kDay = 24 * 3'600 * kSecond;

// clang-format off
constexpr Key kKeys[] = {
    {.path = "$schema", .kind = Kind::text, .example = "\"flow.schema.json\"",
     .doc = "For editors: where the schema of this file lies."},
    {.path = "pgflow", .kind = Kind::integer, .required = true, .minimum = 1, .maximum = 1, .example = "1",
     .doc = "Version of this file's format."},
    {.path = "slug", .kind = Kind::text, .required = true, .example = "\"communityThreadsV1\"",
     .doc = "The flow's slug: letters, digits and single underscores."},
    {.path = "queueMode", .kind = Kind::choice, .fallback = "flow", .choices = "flow|step", .example = "\"step\"",
     .doc = "step: a queue for every step. flow: one queue for the flow."},
    {.path = "maxAttempts", .kind = Kind::integer, .minimum = 1, .maximum = kLargest, .example = "3",
     .doc = "Attempts of a task in all, for steps that do not say; the database's default is 3."},
    {.path = "baseDelay", .kind = Kind::integer, .minimum = 1, .maximum = kLargest, .example = "5",
     .doc = "Seconds; after the n-th failed attempt a task waits baseDelay * 2^n."},
    {.path = "timeout", .kind = Kind::integer, .minimum = 3, .maximum = kLargest, .example = "60",
     .doc = "Seconds for one attempt; the database's default is 60."},
    {.path = "inputSchema", .kind = Kind::json,
     .doc = "JSON Schema of a run's input, for people and tools that read the flow's description."},
    {.path = "steps", .kind = Kind::list, .required = true, .minimum = 0, .maximum = kMost,
     .doc = "The steps; each stands behind those that it depends on."},
    {.path = "steps[]", .kind = Kind::object,
     .doc = "One step."},
    {.path = "steps[].slug", .kind = Kind::text, .required = true, .example = "\"classify\"",
     .doc = "The step's slug."},
    {.path = "steps[].type", .kind = Kind::choice, .fallback = "single", .choices = "single|array|map", .example = "\"map\"",
     .doc = "single: one task. array: one task whose output is an array. map: one task for each element of an array."},
    {.path = "steps[].dependsOn", .kind = Kind::list, .minimum = 0, .maximum = kMost, .example = "[\"classify\"]",
     .doc = "Slugs of earlier steps; the input is an object of their outputs. Without it the input is the flow's."},
    {.path = "steps[].dependsOn[]", .kind = Kind::text, .example = "\"classify\"",
     .doc = "A step's slug."},
    {.path = "steps[].array", .kind = Kind::text, .example = "\"files\"",
     .doc = "Maps only: the array or map step whose elements it walks. Without it the map walks the flow's input."},
    {.path = "steps[].if", .kind = Kind::json,
     .doc = "Run the step only when its input contains this (jsonb @>). A dependent step's input is an object of outputs."},
    {.path = "steps[].ifNot", .kind = Kind::json,
     .doc = "Run the step only when its input does not contain this."},
    {.path = "steps[].whenUnmet", .kind = Kind::choice, .fallback = "skip", .choices = "fail|skip|skip-cascade", .example = "\"skip\"",
     .doc = "When the condition is not met: fail the run, skip the step, or skip all that depends on it too."},
    {.path = "steps[].whenExhausted", .kind = Kind::choice, .fallback = "fail", .choices = "fail|skip|skip-cascade", .example = "\"skip\"",
     .doc = "The same for a task without attempts left."},
    {.path = "steps[].maxAttempts", .kind = Kind::integer, .minimum = 1, .maximum = kLargest, .example = "3",
     .doc = "As for the flow."},
    {.path = "steps[].baseDelay", .kind = Kind::integer, .minimum = 1, .maximum = kLargest, .example = "5",
     .doc = "As for the flow."},
    {.path = "steps[].timeout", .kind = Kind::integer, .minimum = 3, .maximum = kLargest, .example = "60",
     .doc = "As for the flow."},
    {.path = "steps[].startDelay", .kind = Kind::integer, .minimum = 0, .maximum = kLargest, .example = "0",
     .doc = "Seconds before the step's tasks can be claimed."},
    {.path = "steps[].inputSchema", .kind = Kind::json,
     .doc = "JSON Schema of a task's input."},
    {.path = "steps[].outputSchema", .kind = Kind::json,
     .doc = "JSON Schema of the output."},
    {.path = "steps[].handler", .kind = Kind::object, .required = true, .example = "{\"command\": [\"./deliver.sh\"]}",
     .doc = "The command that runs the step's tasks."},
    {.path = "steps[].handler.command", .kind = Kind::list, .required = true, .minimum = 1, .maximum = kMost, .example = "[\"python3\", \"classify.py\"]",
     .doc = "Program and arguments, without a shell. A program with a slash is relative to this file, one without is looked up in PATH."},
    {.path = "steps[].handler.command[]", .kind = Kind::text, .example = "\"python3\"",
     .doc = "An argument."},
    {.path = "steps[].handler.mode", .kind = Kind::choice, .fallback = "process-per-task", .choices = "process-per-task|persistent", .example = "\"persistent\"",
     .doc = "process-per-task: input on stdin, output on stdout, started for each task. persistent: one JSON object a line, started once."},
    {.path = "steps[].handler.output", .kind = Kind::choice, .fallback = "json", .choices = "json|none", .example = "\"none\"",
     .doc = "none: what the command prints goes to the log, and the step's output is null. process-per-task only."},
    {.path = "steps[].handler.cwd", .kind = Kind::path, .fallback = ".", .example = "\".\"",
     .doc = "Folder the command runs in. Relative to this file."},
    {.path = "steps[].handler.env", .kind = Kind::object,
     .doc = "Variables added to the worker's own environment."},
    {.path = "steps[].handler.env.*", .kind = Kind::env_value, .example = "{\"from_env\": \"SLACK_TOKEN\"}",
     .doc = "The value, or where it comes from."},
    {.path = "steps[].handler.env.*.from_env", .kind = Kind::text, .required = true, .example = "\"SLACK_TOKEN\"",
     .doc = "Name of a variable of the worker's environment."},
    {.path = "steps[].handler.grace", .kind = Kind::duration, .fallback = "5s", .minimum = 0, .maximum = 20 * kSecond, .example = "\"5s\"",
     .doc = "From TERM, or a cancel, to KILL."},
    {.path = "steps[].handler.heartbeat", .kind = Kind::duration, .minimum = 100, .maximum = kDay, .example = "\"30s\"",
     .doc = "persistent only: a task of which nothing is heard for so long is cancelled. Off when absent."},
};
// clang-format on

}  // namespace

const settings::FileFormat& flow_file_format() {
  static constexpr settings::FileFormat kFormat{
      "pgflow flow file", "A flow whose steps are commands, for `pgflow-worker`.", kKeys
  };
  return kFormat;
}

}  // namespace pgflow::worker
