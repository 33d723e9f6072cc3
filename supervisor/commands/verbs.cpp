#include "supervisor/commands/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace pgflow::cli {
namespace {

// "250ms", "60s", "5m", "1h"; a number alone counts seconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0) || number > 1e9) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = 0;
  if (unit == "ms") factor = 1;
  if (unit == "s" || unit.empty()) factor = 1e3;
  if (unit == "m") factor = 60e3;
  if (unit == "h") factor = 3600e3;
  if (factor == 0) return std::nullopt;
  return std::chrono::milliseconds(static_cast<long long>(number * factor));
}

}  // namespace

std::function<std::string(const std::string&)> one_of(std::vector<std::string> known) {
  return [known = std::move(known)](const std::string& value) {
    if (std::ranges::find(known, value) != known.end()) return std::string();
    return fmt::format("must be one of {}, got \"{}\"", fmt::join(known, ", "), value);
  };
}

void Verb::add_output(std::vector<std::string> known, const std::string& help) {
  add_option_function<std::string>(
      "-o,--output",
      [this](const std::string& value) {
        common_.output = value == "json"    ? Output::json
                         : value == "jsonl" ? Output::jsonl
                                            : Output::text;
      },
      help
  )
      ->type_name(fmt::format("{}", fmt::join(known, "|")))
      ->check(one_of(std::move(known)));
}

void Verb::add_output() {
  add_output({"text", "json"}, "text for people, json for programs");
}

void Verb::add_list_output() {
  add_output({"text", "json", "jsonl"}, "text for people, json for programs, jsonl a line each");
}

void Verb::add_config() {
  add_option("-c,--config", common_.config, "The config file")
      ->envname("PGFLOW_CONFIG")
      ->type_name("FILE");
}

void Verb::add_database() {
  add_option("-d,--database-url", common_.database_url, "The database; wins over everything else")
      ->type_name("URL");
  add_config();
}

void Verb::add_socket() {
  add_option("--socket", common_.socket, "The supervisor's control socket")
      ->envname("PGFLOW_SOCKET")
      ->type_name("PATH");
}

void Verb::add_room() {
  add_socket();
  add_config();
  add_output();
}

CLI::Option* Verb::add_duration(const std::string& name, Timeout& value, const std::string& help) {
  return add_option_function<std::string>(
             name, [&value](const std::string& text) { value = parse_duration(text); }, help
  )
      ->check([](const std::string& text) {
        return parse_duration(text)
                   ? std::string()
                   : fmt::format("\"{}\" is not a duration like 500ms, 60s, 5m or 1h", text);
      })
      ->type_name("TIME");
}

CLI::Option* Verb::add_timeout(Timeout& timeout) {
  return add_duration("--timeout", timeout, "Give up after this time (exit code 124)");
}

void Verb::add_waiting(WaitArguments& waiting, const std::string& help) {
  CLI::Option* wait = add_flag("--wait", waiting.wait, help);
  add_timeout(waiting.timeout)->needs(wait);
}

void Verb::add_pools(PoolArguments& pools) {
  CLI::Option* names =
      add_option("pool", pools.pools, "FLOW/STEP, STEP, or FLOW for all of its pools")
          ->type_name("POOL");
  add_flag("--all", pools.all, "Every pool of the supervisor")->excludes(names);
}

CLI::App& Verbs::group(const std::string& name, const std::string& help) {
  CLI::App& added = *app.add_subcommand(name, help);
  added.require_subcommand(1);
  return added;
}

Verb& Verbs::add(
    CLI::App& parent,
    const std::string& name,
    const std::string& help,
    std::function<Outcome<Exit>(const Common&)> run
) {
  auto verb = std::make_shared<Verb>(parent, name, help, common);
  Verb& added = *verb;
  attach(parent, std::move(verb), [this, run = std::move(run)] { return run(common); });
  return added;
}

void Verbs::attach(
    CLI::App& parent, std::shared_ptr<Verb> verb, std::function<Outcome<Exit>()> when_named
) {
  Verb& added = *verb;
  parent.add_subcommand(std::move(verb));
  // Of a verb that has others below it (`fence`, `fence list`) the innermost stands.
  added.parse_complete_callback([this, &added, when_named = std::move(when_named)] {
    if (added.get_subcommands().empty()) named = when_named;
  });
}

}  // namespace pgflow::cli
