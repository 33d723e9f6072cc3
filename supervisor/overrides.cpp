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

// Somebody may have edited the file: what is in it is checked like an order.
class Reader {
 public:
  Result<Overrides> read(const std::string& text) {
    const auto root = json::parse(text);
    if (!root) return fail(root.error());
    const auto* version = root->find("version");
    const auto* pools = root->find("pools");
    if (version == nullptr || version->as_int64() != 1) wrong("\"version\" is not 1");
    if (pools == nullptr || pools->type != json::Type::object) {
      wrong("\"pools\" is no object");
    } else {
      for (const auto& member : pools->members) overrides_[member.name] = pool(member);
    }
    if (problem_.empty()) return std::move(overrides_);
    return fail({.kind = "overrides_invalid", .message = problem_});
  }

 private:
  Override pool(const json::Member& member) {
    Override out;
    if (member.value.type != json::Type::object) wrong(member.name + " is no object");
    const auto* paused = member.value.find("paused");
    if (paused != nullptr && !paused->as_string()) wrong(member.name + ": \"paused\" is no text");
    if (paused != nullptr) out.paused = paused->text;
    number(member, "processes", 0, 1'000, [&](auto count) {
      out.processes = static_cast<int>(count);
    });
    number(member, "max_concurrent", 1, 10'000, [&](auto count) {
      out.max_concurrent = static_cast<int>(count);
    });
    constexpr std::int64_t kMostMs = 8'000'000'000'000;  // a few hundred years
    number(member, "until_ms", 0, kMostMs, [&](auto count) {
      out.until = WallClock::time_point(milliseconds(count));
    });
    return out;
  }

  template <class Take>
  void number(
      const json::Member& pool, const char* name, std::int64_t least, std::int64_t most, Take take
  ) {
    const auto* node = pool.value.find(name);
    if (node == nullptr) return;
    const auto count = node->as_int64();
    if (count && *count >= least && *count <= most) return take(*count);
    wrong(
        pool.name + ": \"" + name + "\" is no integer from " + std::to_string(least) + " to " +
        std::to_string(most)
    );
  }

  void wrong(const std::string& what) {
    if (problem_.empty()) problem_ = what + ".";
  }

  Overrides overrides_;
  std::string problem_;
};

}  // namespace

Result<Overrides> load_overrides(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return Overrides();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  auto overrides = Reader().read(text.str());
  if (overrides) return overrides;
  return fail(
      {.kind = "overrides_invalid",
       .message = "Cannot read " + file.string() + ".",
       .detail = overrides.error().message,
       .hint = "It says which pools are paused or scaled. Correct it, or remove it to go back to "
               "the config file."}
  );
}

Result<void> save_overrides(const std::filesystem::path& file, const Overrides& overrides) {
  if (auto written = replace_file(file, text_of(overrides)); !written) {
    return fail(std::move(written.error()));
  }
  return {};
}

}  // namespace pgflow::supervisor
