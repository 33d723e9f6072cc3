#include "settings/keys.hpp"

#include <array>

namespace pgflow::settings {
namespace {

constexpr double kHour = 3'600'000;
constexpr double kTebibyte = 1024.0 * 1024 * 1024 * 1024;

// clang-format off
constexpr Key kSettings[] = {
    {.path = "$schema", .kind = Kind::text, .example = "\"pgflow.schema.json\"",
     .doc = "For editors: where the schema of this file lies."},
    {.path = "version", .kind = Kind::integer, .required = true, .minimum = 1, .maximum = 1, .example = "1",
     .doc = "Version of this file's format."},

    {.path = "supervisor", .kind = Kind::object,
     .doc = "The supervisor itself."},
    {.path = "supervisor.name", .kind = Kind::text, .fallback = "", .example = "\"community-a\"",
     .doc = "Name of this supervisor in logs; the host's name when absent."},
    {.path = "supervisor.state_dir", .kind = Kind::path, .fallback = ".pgflow", .example = "\"/var/lib/pgflow\"",
     .doc = "Folder for locks and for the journal of releases; one supervisor a folder. Relative to this file."},
    {.path = "supervisor.shutdown_deadline", .kind = Kind::duration, .fallback = "25s", .minimum = 0, .maximum = kHour, .example = "\"25s\"",
     .doc = "How long workers may finish their tasks after TERM."},
    {.path = "supervisor.kill_margin", .kind = Kind::duration, .fallback = "5s", .minimum = 0, .maximum = kHour, .example = "\"5s\"",
     .doc = "How much longer a worker may live after that before it is killed."},
    {.path = "supervisor.max_parallel_starts", .kind = Kind::integer, .minimum = 1, .maximum = 1000, .example = "2",
     .doc = "How many workers may be starting at once; the number of cores when absent."},
    {.path = "supervisor.max_spawns_per_second", .kind = Kind::integer, .fallback = "10", .minimum = 1, .maximum = 1000, .example = "10",
     .doc = "Upper limit of process starts, all pools together."},
    {.path = "supervisor.exit_when", .kind = Kind::choice, .fallback = "never", .choices = "never|any_required_failed|all_failed", .example = "\"never\"",
     .doc = "Which failed pools (no restart can help) end the supervisor, with 70. Every pool is required."},
    {.path = "supervisor.control", .kind = Kind::object,
     .doc = "The UNIX socket for orders and questions: pgflow scale, pause, drain, status, top."},
    {.path = "supervisor.control.socket", .kind = Kind::path, .example = "\"/run/pgflow/control.sock\"",
     .doc = "Where it lies; control.sock in state_dir when absent. Other programs than pgflow reach no path above 107 bytes. Relative to this file."},
    {.path = "supervisor.control.mode", .kind = Kind::text, .fallback = "0600", .example = "\"0660\"",
     .doc = "Its file mode, octal: who may write to it may give orders, and root."},
    {.path = "supervisor.health", .kind = Kind::object,
     .doc = "The same over TCP, read-only without a token: /livez, /readyz, /startupz, /metrics, /v1/status."},
    {.path = "supervisor.health.listen", .kind = Kind::text, .example = "\"127.0.0.1:9464\"",
     .doc = "IP address and port; no TCP when absent. Another address than a loopback one needs token_env."},
    {.path = "supervisor.health.token_env", .kind = Kind::text, .example = "\"PGFLOW_API_TOKEN\"",
     .doc = "Name of the environment variable with the bearer token that everything but /livez, /readyz and /startupz then wants; with it orders are taken, too."},
    {.path = "supervisor.health.hosts", .kind = Kind::list, .minimum = 0, .maximum = 100, .example = "[\"pgflow.internal\"]",
     .doc = "Names that a request's Host header may have, beside localhost and IP addresses."},
    {.path = "supervisor.health.hosts[]", .kind = Kind::text, .example = "\"pgflow.internal\"",
     .doc = "A name without a port."},
    {.path = "supervisor.log", .kind = Kind::object,
     .doc = "Log lines, on stderr."},
    {.path = "supervisor.log.level", .kind = Kind::choice, .fallback = "info", .choices = "debug|info|warn|error", .example = "\"info\"",
     .doc = "Least important level that is written."},
    {.path = "supervisor.log.format", .kind = Kind::choice, .fallback = "auto", .choices = "auto|json|simple|fancy", .example = "\"json\"",
     .doc = "auto: fancy on a terminal, otherwise simple."},

    {.path = "database", .kind = Kind::object,
     .doc = "The PostgreSQL database that holds the flows. DATABASE_URL and --database-url win over this."},
    {.path = "database.url", .kind = Kind::text, .example = "\"postgresql://pgflow@db/app\"",
     .doc = "Connection URL; put no password here, use url_env or a password file."},
    {.path = "database.url_env", .kind = Kind::text, .fallback = "DATABASE_URL", .example = "\"DATABASE_URL\"",
     .doc = "Name of the environment variable that holds the connection URL."},
    {.path = "database.max_connections", .kind = Kind::integer, .fallback = "80", .minimum = 5, .maximum = 100000, .example = "80",
     .doc = "Connections that the supervisor (3) and its workers (2 each) may use together; more processes than fit are refused."},
    {.path = "database.connect_timeout", .kind = Kind::duration, .fallback = "5s", .minimum = 100, .maximum = kHour, .example = "\"5s\"",
     .doc = "How long one attempt to connect may take."},
    {.path = "database.embedded", .kind = Kind::boolean, .fallback = "false", .example = "true",
     .doc = "Only `pgflow dev`: use the private PostgreSQL instead of a URL."},

    {.path = "defaults", .kind = Kind::object,
     .doc = "For all pools."},
    {.path = "defaults.start_timeout", .kind = Kind::duration, .fallback = "30s", .minimum = 100, .maximum = kHour, .example = "\"30s\"",
     .doc = "A worker that is not ready after this time is killed and started again."},
    {.path = "defaults.watchdog", .kind = Kind::duration, .fallback = "10s", .minimum = 2000, .maximum = kHour, .example = "\"10s\"",
     .doc = "A worker whose loop stands still this long is killed; busy handlers do not count."},
    {.path = "defaults.restart", .kind = Kind::object,
     .doc = "When a crashed worker is started again: a random time from 0 to min(max, base * factor^crashes)."},
    {.path = "defaults.restart.base", .kind = Kind::duration, .fallback = "250ms", .minimum = 1, .maximum = kHour, .example = "\"250ms\"",
     .doc = "Longest wait after the first crash."},
    {.path = "defaults.restart.factor", .kind = Kind::number, .fallback = "2", .minimum = 1, .maximum = 100, .example = "2",
     .doc = "Growth of the wait from crash to crash."},
    {.path = "defaults.restart.max", .kind = Kind::duration, .fallback = "30s", .minimum = 1, .maximum = 24 * kHour, .example = "\"30s\"",
     .doc = "The wait never grows beyond this."},
    {.path = "defaults.restart.healthy_after", .kind = Kind::duration, .fallback = "60s", .minimum = 1, .maximum = 24 * kHour, .example = "\"60s\"",
     .doc = "A worker that was ready this long ends the growth."},

    {.path = "defaults.restart.budget", .kind = Kind::object,
     .doc = "A pool with more crashes than this gets one worker at a time, until one lives or has done ten tasks."},
    {.path = "defaults.restart.budget.crashes", .kind = Kind::integer, .fallback = "10", .minimum = 1, .maximum = 100000, .example = "10",
     .doc = "So many crashes of one pool ..."},
    {.path = "defaults.restart.budget.per", .kind = Kind::duration, .fallback = "120s", .minimum = 1000, .maximum = 24 * kHour, .example = "\"120s\"",
     .doc = "... within this time use the budget up."},
    {.path = "defaults.restart.probe_every", .kind = Kind::duration, .fallback = "60s", .minimum = 100, .maximum = 24 * kHour, .example = "\"60s\"",
     .doc = "How often such a pool tries one worker."},
    {.path = "defaults.recycle", .kind = Kind::object,
     .doc = "When a worker is replaced by a fresh one, which is ready before the old one leaves; one worker of a pool at a time."},
    {.path = "defaults.recycle.max_tasks", .kind = Kind::integer, .fallback = "0", .minimum = 0, .maximum = 1e9, .example = "5000",
     .doc = "After so many tasks; 0: never."},
    {.path = "defaults.recycle.max_age", .kind = Kind::duration, .fallback = "0s", .minimum = 0, .maximum = 8784 * kHour, .example = "\"24h\"",
     .doc = "After this time; 0s: never."},
    {.path = "defaults.recycle.max_rss", .kind = Kind::size, .fallback = "0", .minimum = 0, .maximum = kTebibyte, .example = "\"512MiB\"",
     .doc = "Above this resident size; 0: never."},
    {.path = "defaults.limits", .kind = Kind::object,
     .doc = "What a worker may use."},
    {.path = "defaults.limits.hard_memory", .kind = Kind::size, .fallback = "0", .minimum = 0, .maximum = kTebibyte, .example = "\"1GiB\"",
     .doc = "A worker whose resident size is above this is killed; 0: no limit. Looked at every second."},

    {.path = "flows", .kind = Kind::list, .required = true, .minimum = 1, .maximum = 1000,
     .doc = "The flows this supervisor serves."},
    {.path = "flows[]", .kind = Kind::object,
     .doc = "One flow and its worker program."},
    {.path = "flows[].slug", .kind = Kind::slug, .required = true, .example = "\"communityThreadsV1\"",
     .doc = "The flow's slug, as the worker program defines it."},
    {.path = "flows[].queue_mode", .kind = Kind::choice, .fallback = "step", .choices = "step|flow", .example = "\"step\"",
     .doc = "step: a queue and a pool for every step. flow: one queue and one pool for the flow."},
    {.path = "flows[].worker", .kind = Kind::object, .required = true,
     .doc = "The program that runs the flow's handlers."},
    {.path = "flows[].worker.command", .kind = Kind::list, .required = true, .minimum = 1, .maximum = 1000, .example = "[\"bin/community_threads\"]",
     .doc = "Program and arguments. A program with a slash is relative to this file, one without is looked up in PATH, then beside the program pgflow."},
    {.path = "flows[].worker.command[]", .kind = Kind::text,
     .doc = "An argument."},
    {.path = "flows[].worker.env", .kind = Kind::object,
     .doc = "Variables added to the supervisor's own environment."},
    {.path = "flows[].worker.env.*", .kind = Kind::env_value, .example = "{\"from_env\": \"SLACK_TOKEN\"}",
     .doc = "The value, or where it comes from."},
    {.path = "flows[].worker.env.*.from_env", .kind = Kind::text, .required = true, .example = "\"SLACK_TOKEN\"",
     .doc = "Name of a variable of the supervisor's environment; it must exist."},
    {.path = "flows[].worker.cwd", .kind = Kind::path, .fallback = ".", .example = "\".\"",
     .doc = "Folder the program runs in. Relative to this file."},
    {.path = "flows[].steps", .kind = Kind::object,
     .doc = "The steps this supervisor serves, by slug. Queue mode step only."},
    {.path = "flows[].steps.*", .kind = Kind::object,
     .doc = "The pool of one step."},
    {.path = "flows[].steps.*.processes", .kind = Kind::integer, .fallback = "1", .minimum = 0, .maximum = 1000, .example = "1",
     .doc = "Number of worker processes."},
    {.path = "flows[].steps.*.max_concurrent", .kind = Kind::integer, .fallback = "10", .minimum = 1, .maximum = 10000, .example = "4",
     .doc = "Tasks that one process runs at a time."},
    {.path = "flows[].steps.*.exclusive", .kind = Kind::boolean, .example = "true",
     .doc = "No worker is started before the last one of the pool is gone, not even to replace it. When absent: true for one process that runs one task at a time."},
    {.path = "flows[].steps.*.recycle", .kind = Kind::object,
     .doc = "As defaults.recycle, for this pool."},
    {.path = "flows[].steps.*.recycle.max_tasks", .kind = Kind::integer, .minimum = 0, .maximum = 1e9, .example = "5000",
     .doc = "After so many tasks; 0: never."},
    {.path = "flows[].steps.*.recycle.max_age", .kind = Kind::duration, .minimum = 0, .maximum = 8784 * kHour, .example = "\"24h\"",
     .doc = "After this time; 0s: never."},
    {.path = "flows[].steps.*.recycle.max_rss", .kind = Kind::size, .minimum = 0, .maximum = kTebibyte, .example = "\"512MiB\"",
     .doc = "Above this resident size; 0: never."},
    {.path = "flows[].elsewhere", .kind = Kind::list, .minimum = 0, .maximum = 1000, .example = "[\"classify\"]",
     .doc = "Steps that another supervisor serves. Every step must stand here or under steps."},
    {.path = "flows[].elsewhere[]", .kind = Kind::slug, .example = "\"classify\"",
     .doc = "A step's slug."},
    {.path = "flows[].processes", .kind = Kind::integer, .fallback = "1", .minimum = 0, .maximum = 1000, .example = "1",
     .doc = "Number of worker processes. Queue mode flow only."},
    {.path = "flows[].max_concurrent", .kind = Kind::integer, .fallback = "10", .minimum = 1, .maximum = 10000, .example = "4",
     .doc = "Tasks that one process runs at a time. Queue mode flow only."},
};
// clang-format on

}  // namespace

const FileFormat& config_format() {
  static constexpr FileFormat kFormat{
      "pgflow.json", "Configuration of `pgflow up` and `pgflow dev`.", kSettings
  };
  return kFormat;
}

std::string_view parent_of(std::string_view path) {
  if (path.ends_with("[]")) return path.substr(0, path.size() - 2);
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view name_of(std::string_view path) {
  if (path.ends_with("[]")) return "[]";
  return path.substr(path.rfind('.') + 1);
}

}  // namespace pgflow::settings
