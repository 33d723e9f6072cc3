// contract/: any packet is read, unknown, or refused; what was read survives being sent on.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "contract/messages.hpp"
#include "fact.hpp"

using namespace pgflow;

namespace {

template <class Message>
void survives(const Result<Message>& message, Result<Message> (*decode)(std::string_view)) {
  if (!message) return test::hold(!message.error().detail.empty(), "a refusal says why");
  const std::string packet = contract::encode(*message);
  test::hold(packet.size() <= contract::kMaxPacketBytes, "a message fits its packet");
  const auto again = decode(packet);
  test::hold(again.has_value(), "what is sent can be read");
  test::hold(contract::encode(*again) == packet, "sending changes nothing more");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  survives(contract::decode_from_worker(packet), contract::decode_from_worker);
  survives(contract::decode_from_supervisor(packet), contract::decode_from_supervisor);
  return 0;
}
