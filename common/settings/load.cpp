#include "settings/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "base/did_you_mean.hpp"
#include "base/exit_code.hpp"
#include "json/value.hpp"
#include "settings/fill.hpp"
#include "settings/key_check.hpp"

namespace pgflow::settings {
namespace {

namespace fs = std::filesystem;

template <class Fill>
tl::expected<Settings, LoadError> load_with(const fs::path& file, const Fill& fill_from) {
  constexpr int kNoInput = 66;  // sysexits: the input file does not exist
  std::ifstream stream(file, std::ios::binary);
  if (!stream || fs::is_directory(file)) {
    const std::string why = fs::is_directory(file) ? "Is a directory" : std::strerror(errno);
    return tl::unexpected(LoadError{
        kNoInput,
        {{file.string(),
          {},
          "",
          "cannot be read: " + why,
          "Name a config file with -c FILE; config/pgflow.json is the smallest useful one."}}
    });
  }
  const std::string content{std::istreambuf_iterator<char>(stream), {}};

  Settings settings;
  settings.file = file;
  Problems problems(file.string(), content);
  // Repeated keys are ours to report: the parser would stop at the first.
  const auto document =
      json::parse(content, {.comments = true, .trailing_commas = true, .source = file.string()});
  if (!document) {
    const Error& error = document.error();
    return tl::unexpected(
        LoadError{number(ExitCode::config), {{"", {}, "", error.message, error.hint}}}
    );
  }
  if (document->type != json::Type::object) {
    problems.add(
        problems.at(*document), "", "must be an object" + got(*document), "{\"version\": 1, …}"
    );
  } else {
    check_keys(*document, config_format(), problems);
    fill_from(settings, *document, problems);
  }
  if (problems.empty()) return settings;
  return tl::unexpected(LoadError{number(ExitCode::config), problems.take()});
}

}  // namespace

tl::expected<Settings, LoadError> load(const fs::path& file, const Overrides& overrides) {
  return load_with(file, [&](Settings& settings, const json::Value& root, Problems& problems) {
    fill(settings, root, problems, overrides);
  });
}

tl::expected<DatabaseSettings, LoadError> load_database(const fs::path& file) {
  return load_with(file, fill_database).map([](const Settings& settings) {
    return settings.database;
  });
}

tl::expected<SupervisorSettings, LoadError> load_supervisor(const fs::path& file) {
  return load_with(file, fill_supervisor).map([](const Settings& settings) {
    return settings.supervisor;
  });
}

std::vector<Problem> check_steps(
    const Settings& settings,
    const FlowSettings& flow,
    QueueMode described_mode,
    std::span<const std::string> described_steps
) {
  Problems problems(settings.file.string(), {});
  const auto index = std::find_if(
                         settings.flows.begin(),
                         settings.flows.end(),
                         [&](auto& other) { return other.slug == flow.slug; }
                     ) -
                     settings.flows.begin();
  const std::string path = fmt::format("flows[{}]", index);
  if (flow.queue_mode != described_mode) {
    problems.add(
        flow.mode_position,
        path + ".queue_mode",
        fmt::format(
            "is {}, but the worker program's {} is in queue mode {}",
            to_string(flow.queue_mode),
            flow.slug,
            to_string(described_mode)
        ),
        described_mode == QueueMode::flow
            ? "Wrap the flow in with_step_queues(…), or write \"queue_mode\": \"flow\"."
            : "Write \"queue_mode\": \"step\"."
    );
    return problems.take();
  }
  if (flow.queue_mode == QueueMode::flow) return {};

  const std::vector<std::string> known(described_steps.begin(), described_steps.end());
  std::set<std::string> named;
  const auto check = [&](const std::string& slug, Position here, const std::string& where) {
    named.insert(slug);
    if (std::find(known.begin(), known.end(), slug) != known.end()) return;
    std::string hint = did_you_mean_hint(slug, known);
    if (hint.empty()) hint = fmt::format("Its steps: {}.", fmt::join(known, ", "));
    problems.add(
        here, where, fmt::format("is no step of {}, got \"{}\"", flow.slug, slug), std::move(hint)
    );
  };
  for (const auto& step : flow.steps) check(step.slug, step.position, path + ".steps." + step.slug);
  for (std::size_t i = 0; i < flow.elsewhere.size(); ++i) {
    const auto& [slug, here] = flow.elsewhere[i];
    check(slug, here, fmt::format("{}.elsewhere[{}]", path, i));
  }
  for (const auto& slug : known) {
    if (named.contains(slug)) continue;
    problems.add(
        flow.steps_position,
        path + ".steps",
        fmt::format("lacks the step \"{}\"", slug),
        fmt::format(
            "\"{0}\": {{\"processes\": 1}}, or \"elsewhere\": [\"{0}\"] if another supervisor "
            "serves it.",
            slug
        ),
        true
    );
  }
  return problems.take();
}

std::string_view to_string(QueueMode mode) {
  return mode == QueueMode::flow ? "flow" : "step";
}

}  // namespace pgflow::settings
