#include "contract/manifest.hpp"

#include "support/catch.hpp"

using namespace pgflow::contract;

namespace {

const std::string kLine =
    R"({"pgflowManifest": 1, "flowSlug": "communityThreadsV1", "queueMode": "step",)"
    R"( "routes": [{"stepSlug": "classify", "stepIndex": 0, "queueName": "communitythreadsv1__classify"},)"
    R"( {"stepSlug": "deliverSlack", "stepIndex": 1, "queueName": "communitythreadsv1__deliverslack"}],)"
    R"( "shape": {"steps": [{"slug": "classify",  "n": 1.50e3}, {"slug": "deliverSlack"}]},)"
    R"( "somethingNew": true, "fingerprint": "sha256:abc", "pgflowVersion": "9", "protocol": 1})";

}  // namespace

TEST_CASE("a manifest gives routes, steps and the untouched shape", "[contract]") {
  const auto manifests = read_manifests(kLine + "\n");
  REQUIRE(manifests);
  REQUIRE(manifests->size() == 1);
  const Manifest& manifest = manifests->front();
  CHECK(manifest.flow_slug == "communityThreadsV1");
  CHECK(manifest.queue_mode == "step");
  CHECK(manifest.step_slugs == std::vector<std::string>{"classify", "deliverSlack"});
  CHECK(
      manifest.routes ==
      std::vector<ManifestRoute>{
          {"classify", 0, "communitythreadsv1__classify"},
          {"deliverSlack", 1, "communitythreadsv1__deliverslack"}
      }
  );
  CHECK(
      manifest.shape_json == R"({"steps":[{"slug":"classify","n":1.50e3},{"slug":"deliverSlack"}]})"
  );
  CHECK(manifest.fingerprint == "sha256:abc");
}

TEST_CASE("a program may describe several flows, one a line", "[contract]") {
  const auto manifests = read_manifests(kLine + "\n" + kLine);
  REQUIRE(manifests);
  CHECK(manifests->size() == 2);
}

TEST_CASE("rubbish instead of a manifest is quoted in the error", "[contract]") {
  const auto [output, detail] = GENERATE(table<std::string, std::string>({
      {"", "It printed nothing."},
      {"Hello, world!\n",
       "It is not JSON (line 1, column 1: Invalid value.). It printed: Hello, world!"},
      {"\x1b[31mred", "It is not JSON (line 1, column 1: Invalid value.). It printed:  [31mred"},
      {"{}", "It lacks \"pgflowManifest\". It printed: {}"},
      {R"({"pgflowManifest":1})", R"(It lacks "shape.steps". It printed: {"pgflowManifest":1})"},
      {R"({"pgflowManifest":1,"shape":{"steps":[{}]}})",
       R"(It lacks "flowSlug". It printed: {"pgflowManifest":1,"shape":{"steps":[{}]}})"},
  }));
  CAPTURE(output);
  const auto manifests = read_manifests(output);
  REQUIRE_FALSE(manifests);
  CHECK(manifests.error().kind == "bad_manifest");
  CHECK(manifests.error().detail == detail);
}

TEST_CASE("rubbish is quoted only in part", "[contract]") {
  const auto manifests = read_manifests(std::string(100'000, 'x'));
  REQUIRE_FALSE(manifests);
  CHECK(manifests.error().detail.size() < 250);
}

TEST_CASE("a manifest of a newer pgflow is refused", "[contract]") {
  const auto line = GENERATE(
      std::string(R"({"pgflowManifest":2})"), std::string(R"({"pgflowManifest":1,"protocol":2})")
  );
  const auto manifests = read_manifests(line);
  REQUIRE_FALSE(manifests);
  CHECK(manifests.error().kind == "manifest_too_new");
}
