// flow/: any slugs are refused, or each step gets the queue that sql-core 4.2 gives it.
#include <pgflow/error.hpp>
#include <pgflow/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "fact.hpp"

using namespace pgflow;

namespace {

// Written down again from the specification, so that both can be wrong only together.
std::string expected_name(const std::string& flow, const std::string& step, std::size_t index) {
  std::string readable = flow + "__" + step;
  if (readable.size() > 47) readable = flow + "__" + std::to_string(index);
  for (char& c : readable) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return readable;
}

}  // namespace

// One slug a line, the flow's first.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string slug(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return slug;
  };
  FlowDefinition flow;
  flow.slug = line();
  while (!text.empty() && flow.steps.size() < 200) {
    auto step = std::make_shared<StepDefinition>();
    step->slug = line();
    flow.steps.push_back(std::move(step));
  }
  try {
    const auto routes = resolve_routes(flow, QueueMode::step);
    test::hold(routes.size() == flow.steps.size(), "one route a step");
    std::set<std::string> names;
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const std::string& name = routes[i].queue_name;
      test::hold(routes[i].step_index == i, "routes are in step order");
      test::hold(name.size() <= 47, "a queue name fits PGMQ");
      test::hold(
          name == expected_name(flow.slug, flow.steps[i]->slug, i), "the name is the rule's"
      );
      test::hold(names.insert(name).second, "no two steps share a queue");
    }
  } catch (const FlowError& refused) {
    test::hold(refused.error().message.size() > 0, "a refusal says why");
  }
  return 0;
}
