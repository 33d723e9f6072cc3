// `pgflow config show`, `config schema`: what a config file says, what is in force, and what it may
// say.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/proc.hpp"
#include "json/value.hpp"
#include "pg/dsn.hpp"
#include "settings/keys.hpp"
#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

bool is_scalar(settings::Kind kind) {
  return kind != settings::Kind::object && kind != settings::Kind::json;
}

std::string text_of(const json::Value& value) {
  switch (value.type) {
    case json::Type::boolean:
      return value.flag ? "true" : "false";
    case json::Type::number:
    case json::Type::string:
      return value.text;
    case json::Type::array: {
      std::string text;
      for (const json::Value& item : value.items) {
        text += (text.empty() ? "" : " ") + text_of(item);
      }
      return text;
    }
    case json::Type::object:
      if (const json::Value* name = value.find("from_env")) return "from " + name->text;
      return "{…}";
    case json::Type::null:
      break;
  }
  return "null";
}

// False for a default that is not in force: in queue mode step each pool has numbers of its own.
bool counts(const settings::Key& key, const json::Value& element) {
  if (key.path != "flows[].processes" && key.path != "flows[].max_concurrent") return true;
  const json::Value* mode = element.find("queue_mode");
  return (mode != nullptr && mode->text == "flow") ||
         element.find(settings::name_of(key.path)) != nullptr;
}

// A literal value of a worker's environment may be a password.
std::string shown(const settings::Key& key, const json::Value& value) {
  if (key.kind == settings::Kind::env_value && value.type == json::Type::string) return "***";
  if (key.path == "database.url") {
    const auto dsn = pg::Dsn::parse(value.text);
    return dsn ? dsn->describe() : "***";
  }
  return text_of(value);
}

class Lister {
 public:
  Lister(std::string file, std::string text, bool effective)
      : file_(std::move(file)), text_(std::move(text)), effective_(effective) {}

  // One row for each value at `key`, whose path may stand for many.
  void add(const settings::Key& key, const json::Value& root) { walk(key, key.path, &root, ""); }
  void add(ConfigValueView row) { rows_.push_back(std::move(row)); }
  std::vector<ConfigValueView> take() { return std::move(rows_); }

 private:
  void walk(
      const settings::Key& key,
      std::string_view rest,
      const json::Value* at,
      const std::string& path
  ) {
    if (rest.empty()) return found(key, at, path);
    if (rest.starts_with("[]")) {
      if (at == nullptr) return;
      for (std::size_t i = 0; i < at->items.size(); ++i) {
        if (!counts(key, at->items[i])) continue;
        walk(key, rest.substr(2), &at->items[i], fmt::format("{}[{}]", path, i));
      }
      return;
    }
    if (rest.starts_with('.')) rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
    const std::string_view name = rest.substr(0, end);
    if (name == "*") {
      if (at == nullptr) return;
      for (const json::Member& member : at->members) {
        walk(key, rest.substr(end), &member.value, path + "." + member.name);
      }
      return;
    }
    const std::string below = path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
    walk(key, rest.substr(end), at == nullptr ? nullptr : at->find(name), below);
  }

  void found(const settings::Key& key, const json::Value* value, const std::string& path) {
    if (value != nullptr) {
      const auto line = json::locate(text_, value->offset).line;
      return add({path, shown(key, *value), fmt::format("{}:{}", file_, line)});
    }
    if (!effective_) return;
    std::string fallback(key.fallback);
    if (path == "supervisor.name") fallback = host_name();
    if (path == "supervisor.max_parallel_starts") {
      fallback = std::to_string(std::max(1U, std::thread::hardware_concurrency()));
    }
    if (!fallback.empty()) add({path, fallback, "default"});
  }

  const std::string file_;
  const std::string text_;
  const bool effective_;
  std::vector<ConfigValueView> rows_;
};

}  // namespace

Outcome<Exit> config_show(const Common& common, const ConfigShowArguments& arguments) {
  const std::string file = common.config.value_or("pgflow.json").string();
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream) {
    return refuse(Exit::not_found, "cannot read " + file, "", "-c FILE names the config file");
  }
  const std::string text = content.str();
  Result<json::Value> root = json::parse(text, json::with_comments(file));
  if (!root) {
    return refuse(
        Exit::config, root.error().message, root.error().detail, "`pgflow config check` says more."
    );
  }
  Lister lister(file, text, arguments.effective);
  const bool overridden =
      arguments.effective && (common.database_url || std::getenv("DATABASE_URL") != nullptr ||
                              std::getenv("EDGE_WORKER_DB_URL") != nullptr);
  for (const settings::Key& key : settings::config_format().keys) {
    if (!is_scalar(key.kind) || key.path == "$schema" || key.path.ends_with("[]")) continue;
    if (key.kind == settings::Kind::list && key.path == "flows") continue;
    if (key.path.ends_with(".from_env")) continue;
    if (overridden && key.path == "database.url") {
      Outcome<DatabaseAddress> address = find_database(common);
      if (!address) return tl::unexpected(address.error());
      const auto dsn = pg::Dsn::parse(address->url);
      lister.add({"database.url", dsn ? dsn->describe() : "***", address->source});
      continue;
    }
    lister.add(key, *root);
  }
  ConfigShowView view{file, lister.take()};
  if (common.output == Output::json) {
    print(to_json(view));
    return Exit::ok;
  }
  Table table("", {{"KEY"}, {"VALUE"}, {"FROM"}});
  for (const ConfigValueView& row : view.values) table.add({row.key, row.value, row.source});
  print(table.text());
  return Exit::ok;
}

Outcome<Exit> config_schema() {
  print(settings::json_schema(settings::config_format()));
  return Exit::ok;
}

}  // namespace pgflow::cli
