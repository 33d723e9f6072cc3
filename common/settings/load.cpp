#include "settings/load.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "base/did_you_mean.hpp"
#include "base/exit_code.hpp"
#include "json/value.hpp"
#include "settings/duration.hpp"
#include "settings/keys.hpp"

namespace pgflow::settings {
namespace {

namespace fs = std::filesystem;
using Node = json::Value;

constexpr int kConnectionsOfSupervisor = 3;
constexpr int kConnectionsOfWorker = 2;

// What was found instead.
std::string got(const Node& node) {
  return ", got " + node.shown();
}

bool is_object(const Node* node) {
  return node != nullptr && node->type == json::Type::object;
}
bool is_list(const Node* node) {
  return node != nullptr && node->type == json::Type::array;
}
bool is_text(const Node* node) {
  return node != nullptr && node->type == json::Type::string;
}

std::string member_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

class Problems {
 public:
  Problems(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  Position at(const Node& node) const { return located(node.offset); }
  Position at(const json::Member& member) const { return located(member.offset); }

  void add(
      Position position,
      std::string path,
      std::string reason,
      std::string hint = {},
      bool warning = false
  ) {
    problems_.push_back(
        {file_, position, std::move(path), std::move(reason), std::move(hint), warning}
    );
  }

  std::vector<Problem> take() {
    std::stable_sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.position.line, a.position.column) <
             std::pair(b.position.line, b.position.column);
    });
    return std::move(problems_);
  }
  bool empty() const { return problems_.empty(); }

 private:
  Position located(std::size_t offset) const {
    const auto [line, column] = json::locate(text_, offset);
    return {static_cast<int>(line), static_cast<int>(column)};
  }

  std::string file_;
  std::string_view text_;
  std::vector<Problem> problems_;
};

// First half: every key known, every value of its kind and within its limits, by the rows alone.
class ShapeCheck {
 public:
  explicit ShapeCheck(Problems& problems) : problems_(problems) {}

  void members(const Node& object, std::string_view pattern, const std::string& path) {
    std::map<std::string_view, int> seen;
    for (const auto& member : object.members) {
      const Position here = problems_.at(member);
      const std::string its_path = member_path(path, member.name);
      const Key* key = child(pattern, member.name);
      if (key == nullptr) {
        if (!member.name.starts_with("x-")) unknown(pattern, member.name, here, its_path);
        continue;
      }
      if (const auto [first, fresh] = seen.emplace(member.name, here.line); !fresh) {
        problems_.add(
            here,
            its_path,
            fmt::format("is given twice, first in line {}", first->second),
            "Remove one of the two."
        );
      }
      value(member.value, *key, its_path);
    }
    for (const Key& key : keys()) {
      if (!key.required || parent_of(key.path) != pattern || key.path.empty()) continue;
      const auto name = name_of(key.path);
      if (seen.contains(name)) continue;
      problems_.add(
          problems_.at(object),
          member_path(path, name),
          "is missing",
          fmt::format("\"{}\": {}", name, key.example.empty() ? "…" : key.example)
      );
    }
  }

 private:
  static const Key* child(std::string_view pattern, std::string_view name) {
    const Key* any = nullptr;
    for (const Key& key : keys()) {
      if (parent_of(key.path) != pattern || key.path == pattern) continue;
      if (name_of(key.path) == name) return &key;
      if (name_of(key.path) == "*") any = &key;
    }
    return any;
  }

  void unknown(
      std::string_view pattern, const std::string& name, Position here, const std::string& path
  ) {
    std::vector<std::string> known;
    for (const Key& key : keys()) {
      if (parent_of(key.path) == pattern && name_of(key.path) != "[]") {
        known.emplace_back(name_of(key.path));
      }
    }
    std::string hint = did_you_mean_hint(name, known);
    if (hint.empty()) hint = fmt::format("Known here: {}.", fmt::join(known, ", "));
    problems_.add(here, path, "is not a known key", std::move(hint));
  }

  void value(const Node& node, const Key& key, const std::string& path) {
    if (!fits(node, key)) {
      problems_.add(
          problems_.at(node),
          path,
          "must be " + wanted(key) + got(node),
          key.example.empty() ? "" : example(key)
      );
      return;
    }
    if (is_object(&node)) members(node, key.path, path);
    if (is_list(&node)) {
      const Key* element = child(key.path, "[]");
      const auto& elements = node.items;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        value(elements[i], *element, fmt::format("{}[{}]", path, i));
      }
    }
  }

  static std::string example(const Key& key) {
    const auto name = name_of(key.path);
    if (name == "[]" || name == "*") return fmt::format("For example {}.", key.example);
    return fmt::format("\"{}\": {}", name, key.example);
  }

  static bool fits(const Node& node, const Key& key) {
    switch (key.kind) {
      case Kind::object:
        return is_object(&node);
      case Kind::list:
        return is_list(&node) && static_cast<double>(node.items.size()) >= key.minimum;
      case Kind::text:
      case Kind::path:
        return is_text(&node) && !node.text.empty();
      case Kind::slug:
        return is_text(&node) && json_slug(node.text);
      case Kind::integer: {
        const auto number = node.as_int64();
        return number && static_cast<double>(*number) >= key.minimum &&
               static_cast<double>(*number) <= key.maximum;
      }
      case Kind::number: {
        const auto number = node.as_double();
        return number && *number >= key.minimum && *number <= key.maximum;
      }
      case Kind::boolean:
        return node.as_bool().has_value();
      case Kind::duration: {
        if (!is_text(&node)) return false;
        const auto duration = parse_duration(node.text);
        return duration && static_cast<double>(duration->count()) >= key.minimum &&
               static_cast<double>(duration->count()) <= key.maximum;
      }
      case Kind::choice:
        return is_text(&node) && !node.text.empty() && node.text.find('|') == std::string::npos &&
               fmt::format("|{}|", key.choices).find("|" + node.text + "|") != std::string::npos;
      case Kind::env_value:
        return is_text(&node) || is_object(&node);
    }
    return false;
  }

  static std::string wanted(const Key& key) {
    const auto limit = [](double value) { return static_cast<long long>(value); };
    const auto time = [&](double value) { return duration_text(Milliseconds(limit(value))); };
    switch (key.kind) {
      case Kind::object:
        return "an object";
      case Kind::list:
        return key.minimum > 0 ? "a list with at least one element" : "a list";
      case Kind::text:
        return "a text that is not empty";
      case Kind::path:
        return "a path";
      case Kind::slug:
        return "a slug: letters, digits and _, not starting with a digit, at most 128";
      case Kind::integer:
        if (key.minimum == key.maximum) return fmt::format("{}", limit(key.minimum));
        return fmt::format("an integer from {} to {}", limit(key.minimum), limit(key.maximum));
      case Kind::number:
        return fmt::format("a number from {} to {}", limit(key.minimum), limit(key.maximum));
      case Kind::boolean:
        return "true or false";
      case Kind::duration:
        return fmt::format("a duration from {} to {}", time(key.minimum), time(key.maximum));
      case Kind::choice: {
        std::string choices(key.choices);
        for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; ++at) {
          choices.replace(at, 1, ", ");
        }
        return "one of " + choices;
      }
      case Kind::env_value:
        return "a text or {\"from_env\": NAME}";
    }
    return "";
  }

  static bool json_slug(const std::string& text) {
    constexpr std::size_t kLongest = 128;
    if (text.empty() || text.size() > kLongest || text == "run") return false;
    if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
    return std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
  }

  Problems& problems_;
};

// Second half: reads the values into the structs and checks what a row cannot say. A value of a
// wrong kind was reported by the first half and is read as its default here.
class Filler {
 public:
  Filler(Settings& settings, Problems& problems, const Overrides& overrides)
      : settings_(settings),
        problems_(problems),
        overrides_(overrides),
        folder_(fs::absolute(settings.file).parent_path()) {}

  void fill(const Node& root) {
    supervisor(root.find("supervisor"));
    database(root, root.find("database"));
    defaults(root.find("defaults"));
    flows(root.find("flows"));
    connection_budget(root);
  }

  void fill_database_only(const Node& root) {
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
    if (number && *number >= 0 && *number <= 1'000'000) value = static_cast<int>(*number);
  }
  static void read(const Node* object, std::string_view name, Milliseconds& value) {
    if (const auto duration = parse_duration(text(object, name))) value = *duration;
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
    out.log.level = text(in(node, "log"), "level", out.log.level);
    out.log.format = text(in(node, "log"), "format", out.log.format);
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
    std::string& name = worker.command[0];
    std::string looked_at;
    if (name.find('/') != std::string::npos) {
      const fs::path file = resolved(name);
      if (runnable(file)) {
        name = file.string();
        return;
      }
      looked_at = fmt::format("It was looked for at {}.", file.string());
      if (fs::exists(file)) {
        problems_.add(
            problems_.at(node),
            path,
            "is not an executable file" + got(node),
            fs::is_directory(file) ? looked_at : "chmod +x " + file.string()
        );
        return;
      }
    } else {
      std::string path_variable = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
      std::size_t begin = 0;
      while (begin <= path_variable.size()) {
        const std::size_t end = std::min(path_variable.find(':', begin), path_variable.size());
        const fs::path file = fs::path(path_variable.substr(begin, end - begin)) / name;
        if (file.is_absolute() && runnable(file)) {
          name = file.string();
          return;
        }
        begin = end + 1;
      }
      looked_at = fmt::format(
          "It was looked for in PATH; write \"./{}\" for a file beside {}.",
          name,
          settings_.file.filename().string()
      );
    }
    problems_.add(problems_.at(node), path, "is no program" + got(node), looked_at);
  }

  static bool runnable(const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
  }

  std::optional<std::string> variable(const json::Member& member, const std::string& path) {
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
    const int needed = kConnectionsOfSupervisor + processes * kConnectionsOfWorker;
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
            kConnectionsOfWorker,
            kConnectionsOfSupervisor
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
  fs::path folder_;
};

}  // namespace

std::string Problem::location_and_reason() const {
  if (file.empty()) return reason;  // a syntax error: the parser's own text says where
  std::string text = file;
  if (position.line > 0) text += fmt::format(":{}:{}", position.line, position.column);
  if (!path.empty()) text += ": " + path;
  return text + ": " + reason;
}

std::string text_of(std::span<const Problem> problems) {
  std::string text;
  for (const Problem& problem : problems) {
    text += (problem.warning ? "warning: " : "error: ") + problem.location_and_reason() + "\n";
    if (!problem.hint.empty()) text += "hint: " + problem.hint + "\n";
  }
  return text;
}

namespace {

tl::expected<Settings, LoadError> load_with(
    const fs::path& file, const Overrides& overrides, void (Filler::*fill)(const Node&)
) {
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
  if (const Node& root = *document; !is_object(&root)) {
    problems.add(problems.at(root), "", "must be an object" + got(root), "{\"version\": 1, …}");
  } else {
    ShapeCheck(problems).members(root, "", "");
    Filler filler(settings, problems, overrides);
    (filler.*fill)(root);
  }
  if (problems.empty()) return settings;
  return tl::unexpected(LoadError{number(ExitCode::config), problems.take()});
}

}  // namespace

tl::expected<Settings, LoadError> load(const fs::path& file, const Overrides& overrides) {
  return load_with(file, overrides, &Filler::fill);
}

tl::expected<DatabaseSettings, LoadError> load_database(const fs::path& file) {
  return load_with(file, {}, &Filler::fill_database_only).map([](const Settings& settings) {
    return settings.database;
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
