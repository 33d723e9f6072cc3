#include "settings/fill.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include <pgflow/ids.hpp>

#include "settings/address.hpp"
#include "settings/duration.hpp"
#include "settings/program.hpp"

namespace pgflow::settings {
namespace {

namespace fs = std::filesystem;
using Node = json::Value;

bool is_object(const Node* node) {
  return node != nullptr && node->type == json::Type::object;
}
bool is_list(const Node* node) {
  return node != nullptr && node->type == json::Type::array;
}
bool is_text(const Node* node) {
  return node != nullptr && node->type == json::Type::string;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii_lower);
  return text;
}

class Filler {
 public:
  Filler(Settings& settings, Problems& problems, const Overrides& overrides)
      : settings_(settings),
        problems_(problems),
        overrides_(overrides),
        folder_(fs::absolute(settings.file).parent_path()) {}

  void everything(const Node& root) {
    supervisor(root.find("supervisor"));
    database(root, root.find("database"));
    defaults(root.find("defaults"));
    flows(root.find("flows"));
    connection_budget(root);
  }

  void only_supervisor(const Node& root) {
    environment_needed_ = false;
    supervisor(root.find("supervisor"));
  }

  void only_database(const Node& root) {
    database_needed_ = false;
    database(root, root.find("database"));
  }

 private:
  static const Node* in(const Node* object, std::string_view name) {
    return is_object(object) ? object->find(name) : nullptr;
  }
  static std::string text(const Node* object, std::string_view name, std::string fallback = {}) {
    const Node* node = in(object, name);
    return is_text(node) ? node->text : std::move(fallback);
  }
  static void read(const Node* object, std::string_view name, int& value) {
    const Node* node = in(object, name);
    if (node == nullptr) return;
    const auto number = node->as_int64();
    if (number && *number >= 0 && *number <= 1'000'000'000) value = static_cast<int>(*number);
  }
  static void read(const Node* object, std::string_view name, Milliseconds& value) {
    if (const auto duration = parse_duration(text(object, name))) value = *duration;
  }
  static void read(const Node* object, std::string_view name, std::int64_t& value) {
    if (const auto size = parse_size(text(object, name))) value = *size;
  }
  static void read(const Node* node, RecycleSettings& recycle) {
    read(node, "max_tasks", recycle.max_tasks);
    read(node, "max_age", recycle.max_age);
    read(node, "max_rss", recycle.max_rss);
  }
  fs::path resolved(const std::string& path) const {
    const fs::path whole = (folder_ / path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
  }

  void supervisor(const Node* node) {
    auto& out = settings_.supervisor;
    char host[256] = "pgflow";
    gethostname(host, sizeof host - 1);
    out.name = text(node, "name", host);
    out.state_dir = resolved(text(node, "state_dir", ".pgflow"));
    read(node, "shutdown_deadline", out.shutdown_deadline);
    read(node, "kill_margin", out.kill_margin);
    out.max_parallel_starts = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    read(node, "max_parallel_starts", out.max_parallel_starts);
    read(node, "max_spawns_per_second", out.max_spawns_per_second);
    const std::string exit_when = text(node, "exit_when");
    if (exit_when == "any_required_failed") out.exit_when = ExitWhen::any_required_failed;
    if (exit_when == "all_failed") out.exit_when = ExitWhen::all_failed;
    control(in(node, "control"));
    health(in(node, "health"));
    out.log.level = text(in(node, "log"), "level", out.log.level);
    out.log.format = text(in(node, "log"), "format", out.log.format);
  }

  void control(const Node* node) {
    auto& out = settings_.supervisor.control;
    const Node* socket = in(node, "socket");
    out.socket =
        is_text(socket) ? resolved(socket->text) : settings_.supervisor.state_dir / "control.sock";
    const Node* mode = in(node, "mode");
    if (!is_text(mode)) return;
    const char* end = mode->text.data() + mode->text.size();
    const auto [stopped, error] = std::from_chars(mode->text.data(), end, out.mode, 8);
    if (error != std::errc{} || stopped != end || (out.mode & ~0666U) != 0 ||
        (out.mode & 0600U) != 0600U) {
      problems_.add(
          problems_.at(*mode),
          "supervisor.control.mode",
          "must be an octal file mode, readable and writable for its owner" + got(*mode),
          "\"0600\": this user and root; \"0660\": its group, too"
      );
    }
  }

  void health(const Node* node) {
    auto& out = settings_.supervisor.health;
    if (const Node* hosts = in(node, "hosts"); is_list(hosts)) {
      for (const Node& host : hosts->items) out.hosts.push_back(host.text);
    }
    const Node* variable = in(node, "token_env");
    if (is_text(variable)) {
      const char* token = std::getenv(variable->text.c_str());
      if (token != nullptr) out.token = token;
      if (out.token.empty() && environment_needed_) {
        problems_.add(
            problems_.at(*variable),
            "supervisor.health.token_env",
            fmt::format("names the environment variable {}, which is not set", variable->text),
            fmt::format("export {}=$(openssl rand -hex 32)", variable->text)
        );
      }
    }
    const Node* listen = in(node, "listen");
    if (!is_text(listen)) return;
    out.listen = listen->text;
    const auto address = parse_address(out.listen);
    if (!address) {
      problems_.add(
          problems_.at(*listen),
          "supervisor.health.listen",
          "must be an IP address and a port" + got(*listen),
          "\"127.0.0.1:9464\""
      );
    } else if (!address->loopback && variable == nullptr) {
      problems_.add(
          problems_.at(*listen),
          "supervisor.health.listen",
          "is reached from other machines and wants a token" + got(*listen),
          "Add \"token_env\": \"PGFLOW_API_TOKEN\", or listen at 127.0.0.1."
      );
    }
  }

  void database(const Node& root, const Node* node) {
    auto& out = settings_.database;
    read(node, "max_connections", out.max_connections);
    read(node, "connect_timeout", out.connect_timeout);
    if (const Node* embedded = in(node, "embedded"))
      out.embedded = embedded->as_bool().value_or(false);

    const Node* url = in(node, "url");
    const Node* url_env = in(node, "url_env");
    const std::string variable = text(node, "url_env", "DATABASE_URL");
    const char* from_environment = std::getenv(variable.c_str());
    if (overrides_.database_url) {
      out.url = *overrides_.database_url;
      out.url_source = "--database-url";
    } else if (from_environment != nullptr && *from_environment != '\0') {
      out.url = from_environment;
      out.url_source = variable;
    } else if (url != nullptr) {
      out.url = text(node, "url");
      out.url_source = settings_.file.string();
      if (out.embedded) {
        problems_.add(
            problems_.at(*url),
            "database.url",
            "cannot stand beside \"embedded\": true",
            "Keep one of the two."
        );
      }
    } else if (out.embedded || !database_needed_) {
      // Somebody else names it.
    } else if (url_env != nullptr) {
      problems_.add(
          problems_.at(*url_env),
          "database.url_env",
          fmt::format("names the environment variable {}, which is not set", variable),
          fmt::format("export {}=postgresql://user@host/database", variable)
      );
    } else {
      problems_.add(
          problems_.at(node != nullptr ? *node : root),
          "database.url",
          "is missing",
          "Set DATABASE_URL, pass --database-url, or write \"database\": {\"url\": "
          "\"postgresql://user@host/database\"}; `pgflow dev` needs none of them."
      );
    }
  }

  void defaults(const Node* node) {
    auto& out = settings_.defaults;
    read(node, "start_timeout", out.start_timeout);
    read(node, "watchdog", out.watchdog);
    const Node* restart = in(node, "restart");
    read(restart, "base", out.restart.base);
    read(restart, "max", out.restart.max);
    read(restart, "healthy_after", out.restart.healthy_after);
    const Node* budget = in(restart, "budget");
    read(budget, "crashes", out.restart.budget_crashes);
    read(budget, "per", out.restart.budget_per);
    read(restart, "probe_every", out.restart.probe_every);
    read(in(node, "recycle"), out.recycle);
    read(in(node, "limits"), "hard_memory", out.hard_memory);
    if (const Node* factor = in(restart, "factor")) {
      out.restart.factor = factor->as_double().value_or(out.restart.factor);
    }
    if (out.restart.max < out.restart.base) {
      const Node* wrong = in(restart, "max") != nullptr ? in(restart, "max") : in(restart, "base");
      problems_.add(
          problems_.at(*wrong),
          "defaults.restart.max",
          fmt::format("must not be less than base ({})", duration_text(out.restart.base)) +
              got(*wrong)
      );
    }
  }

  void flows(const Node* node) {
    if (!is_list(node)) return;
    std::map<std::string, int> lines;  // lower-case slug: first line
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      const Node& element = node->items[i];
      if (!is_object(&element)) continue;
      const std::string path = fmt::format("flows[{}]", i);
      const FlowSettings& flow = settings_.flows.emplace_back(this->flow(element, path));
      if (flow.slug.empty()) continue;
      const auto [first, fresh] = lines.emplace(lower(flow.slug), flow.slug_position.line);
      if (!fresh) {
        problems_.add(
            flow.slug_position,
            path + ".slug",
            fmt::format(
                "names a flow that is given already in line {}, got \"{}\"",
                first->second,
                flow.slug
            ),
            "Flow slugs differ in more than upper and lower case."
        );
      }
    }
  }

  FlowSettings flow(const Node& node, const std::string& path) {
    FlowSettings out;
    out.slug = text(&node, "slug");
    out.slug_position = problems_.at(node.find("slug") != nullptr ? *node.find("slug") : node);
    const Node* mode = node.find("queue_mode");
    out.mode_position = problems_.at(mode != nullptr ? *mode : node);
    out.queue_mode = text(&node, "queue_mode") == "flow" ? QueueMode::flow : QueueMode::step;
    if (const Node* worker = node.find("worker"); is_object(worker)) {
      out.worker = this->worker(*worker, path + ".worker");
    }
    const Node* steps = node.find("steps");
    const Node* elsewhere = node.find("elsewhere");
    out.steps_position = problems_.at(steps != nullptr ? *steps : node);
    if (out.queue_mode == QueueMode::flow) {
      out.steps.push_back(pool(node, ""));
      for (const char* name : {"steps", "elsewhere"}) misplaced(node, name, path, "step");
      return out;
    }
    for (const char* name : {"processes", "max_concurrent"}) misplaced(node, name, path, "flow");
    if (steps == nullptr && elsewhere == nullptr) {
      problems_.add(
          problems_.at(node),
          path + ".steps",
          "is missing",
          "\"steps\": {\"STEP\": {\"processes\": 1, \"max_concurrent\": 4}}"
      );
    }
    std::map<std::string, int> lines;
    const auto once = [&](const std::string& slug, Position here, const std::string& where) {
      const auto [first, fresh] = lines.emplace(lower(slug), here.line);
      if (fresh) return;
      problems_.add(
          here,
          where,
          fmt::format("is given already in line {}", first->second),
          "A step stands once, under steps or under elsewhere; slugs differ in more than upper "
          "and lower case."
      );
    };
    if (is_object(steps)) {
      std::set<std::string_view> exact;  // an exact repetition was reported with the keys
      for (const auto& member : steps->members) {
        if (member.name.starts_with("x-") || !exact.insert(member.name).second) continue;
        const Position here = problems_.at(member);
        once(member.name, here, path + ".steps." + member.name);
        StepSettings& step = out.steps.emplace_back(pool(member.value, member.name));
        step.position = here;
      }
    }
    if (is_list(elsewhere)) {
      for (std::size_t i = 0; i < elsewhere->items.size(); ++i) {
        const Node& element = elsewhere->items[i];
        if (!is_text(&element)) continue;
        out.elsewhere.emplace_back(element.text, problems_.at(element));
        once(element.text, problems_.at(element), fmt::format("{}.elsewhere[{}]", path, i));
      }
    }
    return out;
  }

  StepSettings pool(const Node& node, std::string slug) {
    StepSettings out;
    out.slug = std::move(slug);
    out.position = problems_.at(node);
    read(&node, "processes", out.processes);
    read(&node, "max_concurrent", out.max_concurrent);
    const Node* exclusive = node.find("exclusive");
    out.exclusive = (exclusive != nullptr ? exclusive->as_bool() : std::nullopt)
                        .value_or(out.processes == 1 && out.max_concurrent == 1);
    out.recycle = settings_.defaults.recycle;
    read(node.find("recycle"), out.recycle);
    return out;
  }

  void misplaced(
      const Node& flow, const char* name, const std::string& path, std::string_view mode
  ) {
    const Node* node = flow.find(name);
    if (node == nullptr) return;
    problems_.add(
        problems_.at(*node),
        member_path(path, name),
        fmt::format("belongs to queue mode {}", mode),
        mode == "step" ? "A flow in queue mode flow has one pool: write processes and "
                         "max_concurrent beside slug."
                       : "Write it for each step: \"steps\": {\"STEP\": {…}}."
    );
  }

  WorkerProgram worker(const Node& node, const std::string& path) {
    WorkerProgram out;
    out.cwd = resolved(text(&node, "cwd", "."));
    if (!fs::is_directory(out.cwd)) {
      const Node* cwd = node.find("cwd");
      problems_.add(
          problems_.at(cwd != nullptr ? *cwd : node),
          path + ".cwd",
          fmt::format("is no folder, got \"{}\"", text(&node, "cwd", ".")),
          fmt::format("It was looked for at {}.", out.cwd.string())
      );
    }
    const Node* command = node.find("command");
    if (is_list(command)) {
      out.command_position = problems_.at(*command);
      for (const Node& element : command->items) {
        if (is_text(&element)) out.command.push_back(element.text);
      }
      if (!out.command.empty() && !out.command[0].empty()) {
        program(out, command->items[0], path + ".command[0]");
      }
    }
    if (const Node* env = node.find("env"); is_object(env)) {
      for (const auto& member : env->members) {
        if (auto value = variable(member, path)) out.env.emplace_back(member.name, *value);
      }
    }
    return out;
  }

  // Makes command[0] absolute, or tells why it cannot be run.
  void program(WorkerProgram& worker, const Node& node, const std::string& path) {
    auto file = find_program(worker.command[0], folder_, settings_.file.filename().string());
    if (file) {
      worker.command[0] = std::move(*file);
    } else {
      problems_.add(
          problems_.at(node), path, file.error().reason + got(node), std::move(file.error().hint)
      );
    }
  }

  std::optional<std::string> variable(const json::Member& member, const std::string& path) {
    if (member.name.empty() || member.name.find('=') != std::string::npos) {
      problems_.add(
          problems_.at(member),
          path + ".env",
          fmt::format("has a name that no environment variable can have, got \"{}\"", member.name),
          "A name is not empty and holds no \"=\"; the value stands after the colon."
      );
    }
    if (is_text(&member.value)) return member.value.text;
    const Node* from = in(&member.value, "from_env");
    if (!is_text(from)) return std::nullopt;
    if (const char* value = std::getenv(from->text.c_str())) return value;
    problems_.add(
        problems_.at(*from),
        fmt::format("{}.env.{}.from_env", path, member.name),
        fmt::format("names the environment variable {}, which is not set", from->text),
        fmt::format("export {}=…", from->text)
    );
    return std::nullopt;
  }

  void connection_budget(const Node& root) {
    int processes = 0;
    for (const auto& flow : settings_.flows) {
      for (const auto& step : flow.steps) processes += step.processes;
    }
    const int needed = connections_for(processes);
    const int most = settings_.database.max_connections;
    if (needed <= most) return;
    const Node* database = root.find("database");
    const Node* limit = in(database, "max_connections");
    problems_.add(
        problems_.at(limit != nullptr ? *limit : *root.find("flows")),
        "database.max_connections",
        fmt::format(
            "is {}, but {} processes need {} connections ({} each and {} for the supervisor)",
            most,
            processes,
            needed,
            connections_for(1) - connections_for(0),
            connections_for(0)
        ),
        fmt::format(
            "Lower \"processes\", or set \"max_connections\": {} if the server allows that many.",
            needed
        )
    );
  }

  Settings& settings_;
  Problems& problems_;
  const Overrides& overrides_;
  bool database_needed_ = true;
  bool environment_needed_ = true;
  fs::path folder_;
};

}  // namespace

void fill(
    Settings& settings, const json::Value& root, Problems& problems, const Overrides& overrides
) {
  Filler(settings, problems, overrides).everything(root);
}

void fill_database(Settings& settings, const json::Value& root, Problems& problems) {
  const Overrides none;
  Filler(settings, problems, none).only_database(root);
}

void fill_supervisor(Settings& settings, const json::Value& root, Problems& problems) {
  const Overrides none;
  Filler(settings, problems, none).only_supervisor(root);
}

}  // namespace pgflow::settings
