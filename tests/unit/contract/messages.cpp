#include "contract/messages.hpp"

#include "support/catch.hpp"

using namespace pgflow::contract;

namespace {

template <class Message>
void survives(Message message) {
  const auto back = decode_from_worker(encode(FromWorker(message)));
  REQUIRE(back);
  CHECK(std::get<Message>(*back) == message);
}

template <class Message>
void survives_downwards(Message message) {
  const auto back = decode_from_supervisor(encode(FromSupervisor(message)));
  REQUIRE(back);
  CHECK(std::get<Message>(*back) == message);
}

}  // namespace

TEST_CASE("every message of a worker survives its packet", "[contract]") {
  survives(Hello{4711, "0b5c51ae-6c0e-4d8e-b0ae-7f1d6a1f5a55", "communityThreadsV1", "classify"});
  survives(Ready{"communitythreadsv1__classify"});
  survives(Ping{18446744073709, 18446744073710, 3, 4, 12'345'678'901});
  survives(ExternalTerm{15});
  survives(DatabaseWant{});
  survives(TasksEnded{"completed", {0, 9'007'199'254'740'993, -1}});
  survives(TasksEnded{"failed", {}});
  survives(Stuck{9'007'199'254'740'993, "0b5c51ae-6c0e-4d8e-b0ae-7f1d6a1f5a55", 7, 5'000});
  survives(Work{"communitythreadsv1__deliverslack"});
  survives(DatabaseState{true});
  survives(Drained{false, 4});
  survives(Fatal{"routing", "line\none", "quote \" and \\", "\xF0\x9F\x90\x98"});
}

TEST_CASE("every message of a supervisor survives its packet", "[contract]") {
  survives_downwards(Welcome{"generation", 4});
  survives_downwards(SetLimits{1});
  survives_downwards(Wake{});
  survives_downwards(DatabasePermit{});
  survives_downwards(Drain{25'000, "shutdown"});
  survives_downwards(Drain{std::nullopt, "paused"});
}

TEST_CASE("the longest texts still fit a packet", "[contract]") {
  const std::string flood(1'000'000, '\x01');  // six bytes each in JSON
  const auto packet = encode(FromWorker(Fatal{flood, flood, flood, flood}));
  CHECK(packet.size() <= kMaxPacketBytes);
  CHECK(decode_from_worker(packet));
}

TEST_CASE("bytes that are not UTF-8 do not break a packet", "[contract]") {
  const auto back = decode_from_worker(encode(FromWorker(Fatal{"x", "bad \xFF byte", "", ""})));
  REQUIRE(back);
  CHECK(std::get<Fatal>(*back).message == "bad \xEF\xBF\xBD byte");
}

TEST_CASE("an unknown type is passed on as unknown", "[contract]") {
  const auto message = decode_from_worker(R"({"v":1,"t":"RECYCLE","why":"age"})");
  REQUIRE(message);
  CHECK(std::get<Unknown>(*message).type == "RECYCLE");
}

TEST_CASE("unknown keys are ignored", "[contract]") {
  const auto message = decode_from_worker(R"({"v":1,"t":"READY","queue":"q","colour":"red"})");
  REQUIRE(message);
  CHECK(std::get<Ready>(*message) == Ready{"q"});
}

TEST_CASE("a packet that cannot be read is an error that says why", "[contract]") {
  const auto [packet, detail] = GENERATE(table<std::string, std::string>({
      {"", "line 1, column 1: The document is empty."},
      {"hello", "line 1, column 1: Invalid value."},
      {"[]", R"(It is no object with a version "v" and a type "t".)"},
      {"{}", R"(It is no object with a version "v" and a type "t".)"},
      {R"({"v":1,"t":3})", R"(It is no object with a version "v" and a type "t".)"},
      {R"({"v":1,"t":"READY"})", R"(READY: "queue" must be there.)"},
      {R"({"v":1,"t":"READY","queue":7})", R"(READY: "queue" must be a text.)"},
      {R"({"v":1,"t":"DB","up":"yes"})", R"(DB: "up" must be true or false.)"},
      {R"({"v":1,"t":"PING","loop_seq":-1,"inflight":0,"rss":0})",
       R"(PING: "loop_seq" must be an integer.)"},
      {R"({"v":1,"t":"PING","loop_seq":1,"hb_seq":1,"inflight":1.5,"rss":0})",
       R"(PING: "inflight" must be an integer.)"},
      {R"({"v":1,"t":"PING","loop_seq":1,"hb_seq":1,"inflight":4294967296,"rss":0})",
       R"(PING: "inflight" must be an integer.)"},
  }));
  CAPTURE(packet);
  const auto message = decode_from_worker(packet);
  REQUIRE_FALSE(message);
  CHECK(message.error().kind == "bad_packet");
  CHECK(message.error().detail == detail);
  CHECK_FALSE(message.error().hint.empty());
}

TEST_CASE("a packet longer than 64 KiB is refused", "[contract]") {
  const auto packet = R"({"v":1,"t":"READY","queue":")" + std::string(70'000, 'q') + "\"}";
  const auto message = decode_from_worker(packet);
  REQUIRE_FALSE(message);
  CHECK(message.error().detail == "It is longer than 64 KiB.");
}
