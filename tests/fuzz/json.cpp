// json/: any bytes are read or refused; what was read is written and read as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fact.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

using namespace pgflow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& options : {json::ParseOptions{}, json::with_comments("file")}) {
    const auto value = json::parse(text, options);
    if (!value) {
      test::hold(!value.error().message.empty(), "a refusal says why");
      continue;
    }
    const std::string written = json::text_of(*value);
    const auto again = json::parse(written);
    test::hold(again.has_value(), "what is written can be read");
    test::hold(json::text_of(*again) == written, "reading and writing change nothing more");
  }
  return 0;
}
