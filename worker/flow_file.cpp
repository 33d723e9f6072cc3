#include "worker/flow_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/did_you_mean.hpp"
#include "flow/slug.hpp"
#include "json/writer.hpp"
#include "settings/duration.hpp"
#include "settings/key_check.hpp"
#include "settings/program.hpp"
#include "worker/command.hpp"

namespace pgflow::worker {
namespace {

namespace fs = std::filesystem;
using Node = json::Value;

[[noreturn]] void refuse(const std::vector<settings::Problem>& problems) {
  const settings::Problem& first = problems.front();
  // report() puts "error: ", "detail: " and "hint: " before the parts: the other problems go on in
  // the same words.
  const std::string others = settings::text_of(std::span(problems).subspan(1));
  std::string hint = first.hint;
  if (!others.empty()) hint += (hint.empty() ? "See below.\n" : "\n") + others;
  while (hint.ends_with('\n')) hint.pop_back();
  throw FlowFileError({"flow_file", first.location_and_reason(), "", hint});
}

std::string text(const Node& object, std::string_view key, std::string fallback = {}) {
  const Node* node = object.find(key);
  return node != nullptr ? node->text : std::move(fallback);
}

std::optional<int> whole(const Node& object, std::string_view key) {
  const Node* node = object.find(key);
  if (node == nullptr) return std::nullopt;
  return static_cast<int>(*node->as_int64());
}

std::optional<std::chrono::seconds> seconds(const Node& object, std::string_view key) {
  const auto count = whole(object, key);
  if (!count) return std::nullopt;
  return std::chrono::seconds(*count);
}

std::optional<std::string> pattern(const Node& object, std::string_view key) {
  const Node* node = object.find(key);
  if (node == nullptr) return std::nullopt;
  return json::text_of(*node);
}

std::function<std::string()> schema(const Node& object, std::string_view key) {
  return [text = pattern(object, key).value_or("{}")] { return text; };
}

SkipMode skip_mode(const Node& object, std::string_view key, SkipMode fallback) {
  const std::string word = text(object, key);
  if (word == "fail") return SkipMode::fail;
  if (word == "skip") return SkipMode::skip;
  if (word == "skip-cascade") return SkipMode::skip_cascade;
  return fallback;
}

// Reads a document whose keys were checked already: what is there is of the right kind.
class Reader {
 public:
  Reader(const fs::path& file, settings::Problems& problems)
      : file_(file), folder_(fs::absolute(file).parent_path()), problems_(problems) {}

  std::shared_ptr<const FlowDefinition> flow(const Node& root) {
    const FlowOptions options{
        whole(root, "maxAttempts"), seconds(root, "baseDelay"), seconds(root, "timeout")
    };
    check_name(*root.find("slug"), "slug");
    const auto flow = std::make_shared<FlowDefinition>(
        FlowDefinition{text(root, "slug"), options, {}, schema(root, "inputSchema")}
    );
    const auto& steps = root.find("steps")->items;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      flow->steps.push_back(step(steps[i], fmt::format("steps[{}]", i)));
      earlier_.push_back(&steps[i]);
    }
    return flow;
  }

 private:
  std::shared_ptr<const StepDefinition> step(const Node& node, const std::string& path) {
    check_name(*node.find("slug"), path + ".slug");
    check_is_new(*node.find("slug"), path + ".slug");
    const std::string type = text(node, "type", "single");
    const bool is_map = type == "map";
    const StepOptions options{
        whole(node, "maxAttempts"),
        seconds(node, "baseDelay"),
        seconds(node, "timeout"),
        seconds(node, "startDelay")
    };
    const auto step = detail::new_step(
        text(node, "slug"),
        is_map ? StepKind::map : StepKind::single,
        options,
        is_map ? walked(node, path) : dependencies(node, path),
        skip_mode(node, "whenUnmet", SkipMode::skip),
        skip_mode(node, "whenExhausted", SkipMode::fail)
    );
    step->run_if = condition(node, "if", *step, path);
    step->run_if_not = condition(node, "ifNot", *step, path);
    if (node.find("whenUnmet") != nullptr && !step->run_if && !step->run_if_not) {
      add(*node.find("whenUnmet"),
          path + ".whenUnmet",
          "needs a condition beside it",
          "Add \"if\" or \"ifNot\", or leave it out.");
    }
    step->input_schema = schema(node, "inputSchema");
    step->output_schema = schema(node, "outputSchema");
    handler(*step, *node.find("handler"), type == "array", path + ".handler");
    return step;
  }

  void check_name(const Node& slug, const std::string& path) {
    const SlugProblem problem = check_slug(slug.text);
    if (problem == SlugProblem::none) return;
    add(slug, path, "is no slug" + settings::got(slug), std::string(slug_rule(problem)));
  }

  // Queue names ignore case. All that stand before it are slugs: letters are ASCII.
  void check_is_new(const Node& slug, const std::string& path) {
    const auto same = [](unsigned char a, unsigned char b) {
      return std::tolower(a) == std::tolower(b);
    };
    for (const Node* step : earlier_) {
      if (!std::ranges::equal(text(*step, "slug"), slug.text, same)) continue;
      add(slug,
          path,
          "names a step twice" + settings::got(slug),
          "Slugs of one flow differ in more than case. Rename one.");
      return;
    }
  }

  std::vector<std::string> dependencies(const Node& node, const std::string& path) {
    std::vector<std::string> slugs;
    if (const Node* array = node.find("array")) {
      add(*array, path + ".array", "is for map steps", "Use \"dependsOn\", or \"type\": \"map\".");
    }
    const Node* list = node.find("dependsOn");
    if (list == nullptr) return slugs;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const Node& item = list->items[i];
      const std::string where = fmt::format("{}.dependsOn[{}]", path, i);
      if (std::find(slugs.begin(), slugs.end(), item.text) != slugs.end()) {
        add(item, where, "names the same step twice", "Remove one of the two.");
      } else if (earlier(item, where) != nullptr) {
        slugs.push_back(item.text);
      }
    }
    return slugs;
  }

  std::vector<std::string> walked(const Node& node, const std::string& path) {
    if (const Node* list = node.find("dependsOn")) {
      add(*list,
          path + ".dependsOn",
          "is not for map steps",
          "A map names the one step whose array it walks: \"array\": \"STEP\".");
    }
    const Node* array = node.find("array");
    if (array == nullptr) return {};
    const Node* source = earlier(*array, path + ".array");
    if (source == nullptr) return {};
    if (text(*source, "type", "single") == "single") {
      add(*array,
          path + ".array",
          fmt::format("needs a step whose output is an array, got \"{}\"", array->text),
          fmt::format("Give \"{}\" the type \"array\" or \"map\".", array->text));
    }
    return {array->text};
  }

  // The step of that name before the one that is being read.
  const Node* earlier(const Node& slug, const std::string& path) {
    std::vector<std::string> known;
    for (const Node* step : earlier_) {
      if (text(*step, "slug") == slug.text) return step;
      known.push_back(text(*step, "slug"));
    }
    std::string hint = did_you_mean_hint(slug.text, known);
    if (hint.empty()) {
      hint = known.empty() ? "It is the first step. A step stands behind those that it depends on."
                           : fmt::format("Steps before it: {}.", fmt::join(known, ", "));
    }
    add(slug, path, fmt::format("names no earlier step, got \"{}\"", slug.text), std::move(hint));
    return nullptr;
  }

  // What a dependent step's condition is about is an object of its dependencies' outputs.
  std::optional<std::string> condition(
      const Node& node, std::string_view key, const StepDefinition& step, const std::string& path
  ) {
    const Node* found = node.find(key);
    if (found == nullptr || step.depends_on.empty()) return pattern(node, key);
    const std::string where = settings::member_path(path, key);
    const std::string shape = fmt::format("\"{}\": {{\"{}\": …}}", key, step.depends_on.front());
    if (found->type != json::Type::object) {
      add(*found, where, "is about the outputs of its dependencies" + settings::got(*found), shape);
      return std::nullopt;
    }
    for (const auto& member : found->members) {
      if (std::find(step.depends_on.begin(), step.depends_on.end(), member.name) !=
          step.depends_on.end()) {
        continue;
      }
      const std::string meant = did_you_mean_hint(member.name, step.depends_on);
      problems_.add(
          problems_.at(member),
          settings::member_path(where, member.name),
          "is no step that this one depends on",
          meant.empty() ? shape : meant
      );
    }
    return pattern(node, key);
  }

  void handler(StepDefinition& step, const Node& node, bool is_array, const std::string& path) {
    const bool persistent = text(node, "mode") == "persistent";
    Command command;
    for (const Node& item : node.find("command")->items) command.arguments.push_back(item.text);
    const Node& program = node.find("command")->items.front();
    auto found = settings::find_program(program.text, folder_, file_.filename().string());
    if (found) {
      command.arguments.front() = std::move(*found);
    } else {
      add(program,
          path + ".command[0]",
          found.error().reason + settings::got(program),
          std::move(found.error().hint));
    }
    command.folder = folder(node, path);
    if (const Node* env = node.find("env")) {
      for (const auto& member : env->members) variable(command, member, path + ".env");
    }
    if (text(node, "output") == "none") {
      command.output = Command::Output::none;
      if (persistent || is_array) {
        add(*node.find("output"),
            path + ".output",
            persistent ? "is for process-per-task handlers" : "cannot be none in an array step",
            "Leave it out.");
      }
    } else if (is_array) {
      command.output = Command::Output::array;
    }
    if (const auto grace = settings::parse_duration(text(node, "grace"))) command.grace = *grace;
    command.heartbeat = settings::parse_duration(text(node, "heartbeat"));
    if (command.heartbeat && !persistent) {
      add(*node.find("heartbeat"),
          path + ".heartbeat",
          "is for persistent handlers",
          "Leave it out, or write \"mode\": \"persistent\".");
    }
    if (persistent) {
      set_persistent(step, std::move(command));
    } else {
      set_process_per_task(step, std::move(command));
    }
  }

  std::string folder(const Node& node, const std::string& path) {
    const fs::path folder = (folder_ / text(node, "cwd", ".")).lexically_normal();
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
      add(*node.find("cwd"),
          path + ".cwd",
          "is no folder" + settings::got(*node.find("cwd")),
          fmt::format("It was looked for at {}.", folder.string()));
    }
    return folder.string();
  }

  void variable(Command& command, const json::Member& member, const std::string& path) {
    if (member.name.empty() || member.name.find('=') != std::string::npos) {
      problems_.add(
          problems_.at(member),
          path,
          fmt::format("has a name that no environment variable can have, got \"{}\"", member.name),
          "A name is not empty and holds no \"=\"; the value stands after the colon."
      );
    }
    if (member.name.starts_with("PGFLOW_")) {
      problems_.add(
          problems_.at(member),
          settings::member_path(path, member.name),
          "is set by the worker",
          "Names that begin with PGFLOW_ say which task it is; take another one."
      );
    }
    const Node* from = member.value.find("from_env");
    command.environment.push_back(
        {member.name, from != nullptr ? from->text : member.value.text, from != nullptr}
    );
  }

  void add(const Node& node, std::string path, std::string reason, std::string hint) {
    problems_.add(problems_.at(node), std::move(path), std::move(reason), std::move(hint));
  }

  const fs::path& file_;
  const fs::path folder_;
  settings::Problems& problems_;
  std::vector<const Node*> earlier_;
};

}  // namespace

detail::ProgramFlow read_flow_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || fs::is_directory(file)) {
    const std::string why = fs::is_directory(file) ? "Is a directory" : std::strerror(errno);
    throw FlowFileError(
        {"flow_file",
         "The flow file " + file.string() + " cannot be read.",
         why + ".",
         "The first argument of pgflow-worker is a flow file."}
    );
  }
  return flow_of({std::istreambuf_iterator<char>(stream), {}}, file);
}

detail::ProgramFlow flow_of(const std::string& content, const fs::path& file) {
  const auto document =
      json::parse(content, {.comments = true, .trailing_commas = true, .source = file.string()});
  if (!document) throw FlowFileError({"flow_file", document.error().message, "", ""});

  settings::Problems problems(file.string(), content);
  if (document->type != json::Type::object) {
    problems.add(
        problems.at(*document),
        "",
        "must be an object" + settings::got(*document),
        "{\"pgflow\": 1, …}"
    );
  } else {
    settings::check_keys(*document, flow_file_format(), problems);
  }
  if (!problems.empty()) refuse(problems.take());

  detail::ProgramFlow flow{Reader(file, problems).flow(*document), std::nullopt};
  if (!problems.empty()) refuse(problems.take());
  const bool by_step = text(*document, "queueMode") == "step";
  auto routes = resolve_routes(*flow.definition, by_step ? QueueMode::step : QueueMode::flow);
  if (by_step) flow.routes = std::move(routes);
  return flow;
}

}  // namespace pgflow::worker
