// worker/: any flow file becomes a flow whose manifest is JSON, or is refused in words.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fact.hpp"
#include "json/value.hpp"
#include "worker/flow_file.hpp"

using namespace pgflow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const auto flow = worker::flow_of(text, "/flow.json");
    const auto written =
        json::parse(manifest(*flow.definition, flow.routes ? QueueMode::step : QueueMode::flow));
    test::hold(written.has_value(), "a manifest is JSON");
  } catch (const Exception& error) {
    test::hold(*error.what() != '\0', "a refusal says why");
  }
  return 0;
}
