#include "supervisor/overrides.hpp"

#include <fstream>
#include <sstream>

#include "json/value.hpp"
#include "json/writer.hpp"
#include "supervisor/state_file.hpp"

namespace pgflow::supervisor {
namespace {

using std::chrono::milliseconds;

std::string text_of(const Overrides& overrides) {
  json::Writer writer;
  writer.begin_object().key("version").integer(1).key("pools").begin_object();
  for (const auto& [pool, is] : overrides) {
    writer.key(pool).begin_object();
    if (is.processes) writer.key("processes").integer(*is.processes);
    if (is.max_concurrent) writer.key("max_concurrent").integer(*is.max_concurrent);
    if (is.until) {
      writer.key("until_ms")
          .integer(std::chrono::duration_cast<milliseconds>(is.until->time_since_epoch()).count());
    }
    if (is.paused) writer.key("paused").string(*is.paused);
    writer.end_object();
  }
  return writer.end_object().end_object().take() + "\n";
}

std::optional<std::int64_t> number_in(const json::Value& pool, std::string_view name) {
  const auto* node = pool.find(name);
  return node != nullptr ? node->as_int64() : std::nullopt;
}

Override read(const json::Value& pool) {
  Override out;
  if (const auto count = number_in(pool, "processes")) out.processes = static_cast<int>(*count);
  if (const auto count = number_in(pool, "max_concurrent"))
    out.max_concurrent = static_cast<int>(*count);
  if (const auto time = number_in(pool, "until_ms")) {
    out.until = WallClock::time_point(milliseconds(*time));
  }
  if (const auto* paused = pool.find("paused")) out.paused = paused->text;
  return out;
}

}  // namespace

Result<Overrides> load_overrides(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return Overrides();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto root = json::parse(text.str());
  const auto* pools = root ? root->find("pools") : nullptr;
  if (pools == nullptr) {
    return fail(
        {.kind = "state_dir_unusable",
         .message = "Cannot read " + file.string() + ".",
         .detail = root ? "It has no \"pools\"." : root.error().message,
         .hint = "It says which pools are paused or scaled. Correct it, or remove it to go back to "
                 "the config file."}
    );
  }
  Overrides overrides;
  for (const auto& member : pools->members) overrides[member.name] = read(member.value);
  return overrides;
}

Result<void> save_overrides(const std::filesystem::path& file, const Overrides& overrides) {
  if (auto written = replace_file(file, text_of(overrides)); !written) {
    return fail(std::move(written.error()));
  }
  return {};
}

}  // namespace pgflow::supervisor
