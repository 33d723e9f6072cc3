// with_step_queues: which routes it makes, and which typed error it throws when it cannot.
#include <pgflow/step_queues.hpp>
#include <string>

#include "support/catch.hpp"

using namespace pgflow;

namespace {

const auto same = [](int x) { return x; };

auto one_step(std::string flow_slug) {
  return flow<int>(std::move(flow_slug)).step<"s">(same);
}

// E as thrown by f; any other end fails the test.
template <class E, class F>
E thrown(F f) {
  try {
    f();
  } catch (const E& e) {
    return e;
  } catch (const std::exception& e) {
    FAIL("another exception: " << e.what());
  }
  FAIL("no exception");
  throw;
}

}  // namespace

TEST_CASE("every step gets its readable name in step order", "[flow][step_queues]") {
  const auto queued = with_step_queues(
      flow<"communityThreadsV1", int>().step<"classify">(same).step<"deliverSlack">(same)
  );
  CHECK(
      queued.routes() ==
      std::vector<StepRoute>{
          {"classify", 0, "communitythreadsv1__classify"},
          {"deliverSlack", 1, "communitythreadsv1__deliverslack"}
      }
  );
  CHECK(queued.wrapped().slug() == "communityThreadsV1");
}

TEST_CASE("a step whose readable name is too long is named by its index", "[flow][step_queues]") {
  const auto queued = with_step_queues(
      flow<"shortFlow", int>().step<"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">(same).step<"b">(same
      )
  );
  CHECK(queued.routes()[0].queue_name == "shortflow__0");
  CHECK(queued.routes()[1].queue_name == "shortflow__b");
}

TEST_CASE("a flow whose shortest queue is too long names both candidates", "[flow][step_queues]") {
  const std::string slug(45, 'F');
  const auto e = thrown<FlowQueueNameError>([&] { with_step_queues(one_step(slug)); });
  CHECK(e.error().kind == "flow_queue_name");
  CHECK(e.flow_slug == slug);
  CHECK(e.step_slug == "s");
  CHECK(e.step_index == 0);
  CHECK(e.readable_name == std::string(45, 'f') + "__s");
  CHECK(e.fallback_name == std::string(45, 'f') + "__0");
  CHECK(e.shortest_fallback == e.fallback_name);
  CHECK(e.maximum == 47);
  CHECK(
      std::string(e.what()) == "Flow \"" + slug +
                                   "\" cannot use per-step queues. The shortest required queue \"" +
                                   e.shortest_fallback +
                                   "\" is 48 characters; PGMQ allows at most 47. "
                                   "Shorten the concrete flow slug or use the default single queue."
  );
}

TEST_CASE("a step whose names are both too long is the one that is named", "[flow][step_queues]") {
  const auto eleven = flow<int>(std::string(44, 'f'))
                          .step<"a0">(same)
                          .step<"a1">(same)
                          .step<"a2">(same)
                          .step<"a3">(same)
                          .step<"a4">(same)
                          .step<"a5">(same)
                          .step<"a6">(same)
                          .step<"a7">(same)
                          .step<"a8">(same)
                          .step<"ssssssssssssssssssss">(same)
                          .step<"tttttttttttttttttttt">(same);
  const auto e = thrown<StepQueueNameError>([&] { with_step_queues(eleven); });
  CHECK(e.error().kind == "step_queue_name");
  CHECK(e.flow_slug == std::string(44, 'f'));
  CHECK(e.step_slug == "tttttttttttttttttttt");
  CHECK(e.step_index == 10);
  CHECK(e.readable_name.size() == 66);
  CHECK(e.fallback_name.size() == 48);
  CHECK(e.error().hint.find("shorten the step slug") != std::string::npos);
}

TEST_CASE("a flow without steps cannot have step queues", "[flow][step_queues]") {
  const auto e = thrown<EmptyStepQueuedFlowError>([] { with_step_queues(flow<int>("empty")); });
  CHECK(e.error().kind == "empty_flow");
  CHECK(e.flow_slug == "empty");
  CHECK_FALSE(e.error().hint.empty());
}

TEST_CASE("a plain flow's queue is its slug in lower case, at most 47 long", "[flow][routes]") {
  const auto plain = one_step(std::string(47, 'F'));
  CHECK(
      resolve_routes(*plain.definition(), QueueMode::flow) ==
      std::vector<StepRoute>{{"s", 0, std::string(47, 'f')}}
  );
  const auto e = thrown<DefaultQueueNameError>([] {
    resolve_routes(*one_step(std::string(48, 'f')).definition(), QueueMode::flow);
  });
  CHECK(e.error().kind == "default_queue_name");
  CHECK(resolve_routes(*flow<int>("empty").definition(), QueueMode::flow).empty());
}

TEST_CASE("case-only duplicates are refused in both modes", "[flow][routes]") {
  FlowDefinition definition{"f", {}, {}, nullptr};
  for (const char* slug : {"a", "Load", "loaD"}) {
    auto step = std::make_shared<StepDefinition>();
    step->slug = slug;
    definition.steps.push_back(std::move(step));
  }
  for (const QueueMode mode : {QueueMode::flow, QueueMode::step}) {
    const auto e = thrown<DuplicateStepSlugError>([&] { resolve_routes(definition, mode); });
    CHECK(e.other_step_slug == "Load");
    CHECK(e.step_slug == "loaD");
    CHECK(e.error().detail == "Indices 1 and 2.");
  }
}

TEST_CASE("every definition error can be caught by its bases", "[flow][errors]") {
  CHECK_THROWS_AS(with_step_queues(flow<int>("empty")), StepQueueError);
  CHECK_THROWS_AS(with_step_queues(flow<int>("empty")), FlowError);
  CHECK_THROWS_AS(with_step_queues(flow<int>("empty")), Exception);
  const DuplicateQueueRouteError route("f", "a", "b", "f__a");
  CHECK(route.error().kind == "duplicate_queue_route");
  CHECK(route.queue_name == "f__a");
}
