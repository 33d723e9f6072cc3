// Building a flow's definition: the checks that only run time can make.
#include <algorithm>

#include <pgflow/condition.hpp>
#include <pgflow/detail/handler.hpp>
#include <pgflow/shape.hpp>

#include "flow/slug.hpp"
#include "flow/words.hpp"

namespace pgflow {
namespace {

void check_options(const std::string& owner, const StepOptions& options) {
  const auto require = [&](bool ok, const char* rule) {
    if (!ok) {
      throw OptionError(owner + ": " + rule + ".");
    }
  };
  using std::chrono::seconds;
  require(options.max_attempts.value_or(1) >= 1, "max_attempts must be at least 1");
  require(options.base_delay.value_or(seconds(1)) >= seconds(1), "base_delay must be at least 1 s");
  require(options.timeout.value_or(seconds(3)) >= seconds(3), "timeout must be at least 3 s");
  require(options.start_delay.value_or(seconds(0)) >= seconds(0), "start_delay cannot be negative");
}

}  // namespace

namespace detail {

std::shared_ptr<const FlowDefinition> new_flow(
    std::string slug, FlowOptions options, std::function<std::string()> input_schema
) {
  require_flow_slug(slug);
  check_options(
      "Flow " + words::quote(slug), {options.max_attempts, options.base_delay, options.timeout, {}}
  );
  return std::make_shared<const FlowDefinition>(
      FlowDefinition{std::move(slug), options, {}, std::move(input_schema)}
  );
}

std::shared_ptr<StepDefinition> new_step(
    std::string_view slug,
    StepKind kind,
    StepOptions options,
    std::vector<std::string> depends_on,
    SkipMode when_unmet,
    SkipMode when_exhausted
) {
  check_options("Step " + words::quote(slug), options);
  auto step = std::make_shared<StepDefinition>();
  step->slug = slug;
  step->kind = kind;
  step->options = options;
  step->depends_on = std::move(depends_on);
  step->when_unmet = when_unmet;
  step->when_exhausted = when_exhausted;
  return step;
}

void throw_missing_resource(std::string_view type) {
  throw MissingResourceError(std::string(type));
}

// ---- Patterns
std::string PatternNode::text() const {
  if (children.empty()) {
    return leaf.empty() ? "{}" : leaf;
  }
  std::string members;
  for (std::size_t i = 0; i < children.size(); ++i) {
    members += (i == 0 ? "" : ",") + to_json(keys[i]) + ":" + children[i].text();
  }
  return "{" + members + "}";
}

void merge(PatternNode& into, PatternNode from) {
  const auto anything = [](const PatternNode& n) { return n.children.empty() && n.leaf.empty(); };
  if (anything(into)) {
    into = std::move(from);
    return;
  }
  if (anything(from)) {
    return;
  }
  if (!into.leaf.empty() || !from.leaf.empty()) {
    if (into.leaf != from.leaf) {
      throw PatternError(
          "Two conditions ask for different values at the same place: " + into.text() + " and " +
          from.text() + "."
      );
    }
    return;
  }
  for (std::size_t i = 0; i < from.keys.size(); ++i) {
    const auto same = std::find(into.keys.begin(), into.keys.end(), from.keys[i]);
    if (same == into.keys.end()) {
      into.keys.push_back(from.keys[i]);
      into.children.push_back(std::move(from.children[i]));
    } else {
      merge(
          into.children[static_cast<std::size_t>(same - into.keys.begin())],
          std::move(from.children[i])
      );
    }
  }
}

PatternNode nest(const std::vector<std::string>& path, PatternNode leaf) {
  for (auto key = path.rbegin(); key != path.rend(); ++key) {
    PatternNode parent;
    parent.keys.push_back(*key);
    parent.children.push_back(std::move(leaf));
    leaf = std::move(parent);
  }
  return leaf;
}

std::string_view field_at(const TypeInfo& type, std::size_t offset) {
  if (type.kind == Kind::object) {
    std::size_t count = 0;
    const FieldInfo* fields = type.fields(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (fields[i].offset == offset) {
        return fields[i].name;
      }
    }
  }
  throw PatternError(
      "A member used in a condition has no JSON key in " + std::string(type.name) + "."
  );
}

}  // namespace detail
}  // namespace pgflow
