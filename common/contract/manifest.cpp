#include "contract/manifest.hpp"

#include "contract/environment.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

namespace pgflow::contract {
namespace {

constexpr std::int64_t kManifestVersion = 1;

tl::unexpected<Error> unreadable(std::string_view line, std::string detail) {
  constexpr std::size_t kShown = 120;
  std::string shown(line.substr(0, kShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (line.size() > kShown) shown += "…";
  return fail(
      {.kind = "bad_manifest",
       .message = "The worker program's description cannot be read.",
       .detail = line.empty() ? std::move(detail) : std::move(detail) + " It printed: " + shown,
       .hint = "With --pgflow-describe a worker program prints one line of JSON a flow and nothing "
               "else on stdout: call pgflow::main before anything prints."}
  );
}

// The text at a key, or the name of what is missing.
const std::string& text_at(const json::Value& node, const char* key, std::string& missing) {
  static const std::string kNone;
  const auto* value = node.find(key);
  if (value != nullptr && value->as_string()) return value->text;
  if (missing.empty()) missing = key;
  return kNone;
}

Result<Manifest> read_one(std::string_view line) {
  const auto parsed = json::parse(line);
  if (!parsed) {
    return unreadable(line, "It is not JSON (" + parsed.error().message + ").");
  }
  const auto* version = parsed->find("pgflowManifest");
  if (version == nullptr || !version->as_int64()) {
    return unreadable(line, "It lacks \"pgflowManifest\".");
  }
  const auto* protocol = parsed->find("protocol");
  const std::int64_t spoken = protocol != nullptr ? protocol->as_int64().value_or(0) : kProtocol;
  if (*version->as_int64() > kManifestVersion || spoken > kProtocol) {
    return fail(
        {.kind = "manifest_too_new",
         .message = "The worker program was built with a newer pgflow than this supervisor.",
         .detail = "It describes itself in version " + version->text + ", protocol " +
                   std::to_string(spoken) +
                   "; this supervisor reads version 1, "
                   "protocol 1.",
         .hint = "Upgrade the supervisor first, then the worker programs."}
    );
  }

  Manifest manifest;
  std::string missing;
  manifest.flow_slug = text_at(*parsed, "flowSlug", missing);
  manifest.queue_mode = text_at(*parsed, "queueMode", missing);
  const auto* fingerprint = parsed->find("fingerprint");
  if (fingerprint != nullptr) manifest.fingerprint = fingerprint->text;

  const auto* shape = parsed->find("shape");
  const auto* steps = shape != nullptr ? shape->find("steps") : nullptr;
  if (steps == nullptr || steps->type != json::Type::array)
    return unreadable(line, "It lacks \"shape.steps\".");
  manifest.shape_json = json::Writer().value(*shape).take();
  for (const auto& step : steps->items) {
    manifest.step_slugs.push_back(text_at(step, "slug", missing));
  }

  const auto* routes = parsed->find("routes");
  if (routes != nullptr && routes->type == json::Type::array) {
    for (const auto& route : routes->items) {
      const auto* index = route.find("stepIndex");
      manifest.routes.push_back(
          {text_at(route, "stepSlug", missing),
           static_cast<int>(index != nullptr ? index->as_int64().value_or(0) : 0),
           text_at(route, "queueName", missing)}
      );
    }
  }
  if (!missing.empty()) return unreadable(line, "It lacks \"" + missing + "\".");
  if (manifest.queue_mode != "flow" && manifest.queue_mode != "step") {
    return unreadable(line, "Its queue mode is unknown.");
  }
  return manifest;
}

}  // namespace

Result<std::vector<Manifest>> read_manifests(std::string_view output) {
  std::vector<Manifest> manifests;
  while (!output.empty()) {
    const auto end = output.find('\n');
    const auto line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    auto manifest = read_one(line);
    if (!manifest) return tl::unexpected(std::move(manifest.error()));
    manifests.push_back(std::move(*manifest));
  }
  if (manifests.empty()) return unreadable("", "It printed nothing.");
  return manifests;
}

}  // namespace pgflow::contract
