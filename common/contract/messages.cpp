#include "contract/messages.hpp"

#include <utility>

#include "contract/environment.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

namespace pgflow::contract {
namespace {

// Longest text in a message: four of them and the rest of Fatal fit a packet even when every byte
// becomes six.
constexpr std::size_t kLongestText = 2'500;

std::string_view clipped(std::string_view text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

// --- how each message is called, and its members: once, for both directions

constexpr std::string_view type_of(const Hello*) {
  return "HELLO";
}
constexpr std::string_view type_of(const Ready*) {
  return "READY";
}
constexpr std::string_view type_of(const Ping*) {
  return "PING";
}
constexpr std::string_view type_of(const TasksEnded*) {
  return "TASKS_ENDED";
}
constexpr std::string_view type_of(const Stuck*) {
  return "STUCK";
}
constexpr std::string_view type_of(const Work*) {
  return "WORK";
}
constexpr std::string_view type_of(const DatabaseState*) {
  return "DB";
}
constexpr std::string_view type_of(const DatabaseWant*) {
  return "DB_WANT";
}
constexpr std::string_view type_of(const DatabasePermit*) {
  return "DB_PERMIT";
}
constexpr std::string_view type_of(const Drained*) {
  return "DRAINED";
}
constexpr std::string_view type_of(const ExternalTerm*) {
  return "EXTERNAL_TERM";
}
constexpr std::string_view type_of(const Fatal*) {
  return "FATAL";
}
constexpr std::string_view type_of(const Welcome*) {
  return "WELCOME";
}
constexpr std::string_view type_of(const SetLimits*) {
  return "SET";
}
constexpr std::string_view type_of(const Wake*) {
  return "WAKE";
}
constexpr std::string_view type_of(const Drain*) {
  return "DRAIN";
}

template <class Fields, class Message>
void visit_members(Fields& fields, Message& m) {
  using T = std::remove_const_t<Message>;
  if constexpr (std::is_same_v<T, Hello>) {
    fields("pid", m.pid), fields("worker_id", m.worker_id), fields("flow", m.flow_slug);
    fields("step", m.step_slug);
  } else if constexpr (std::is_same_v<T, Ready>) {
    fields("queue", m.queue_name);
  } else if constexpr (std::is_same_v<T, Ping>) {
    fields("loop_seq", m.loop_seq), fields("hb_seq", m.heartbeat_seq);
    fields("inflight", m.in_flight), fields("concurrency", m.concurrency);
    fields("rss", m.rss_bytes);
  } else if constexpr (std::is_same_v<T, TasksEnded>) {
    fields("outcome", m.outcome), fields("ms", m.milliseconds);
  } else if constexpr (std::is_same_v<T, Stuck>) {
    fields("msg_id", m.msg_id), fields("run_id", m.run_id), fields("task_index", m.task_index);
    fields("over_ms", m.over_milliseconds);
  } else if constexpr (std::is_same_v<T, Work>) {
    fields("queue", m.queue_name);
  } else if constexpr (std::is_same_v<T, DatabaseState>) {
    fields("up", m.up);
  } else if constexpr (std::is_same_v<T, Drained>) {
    fields("clean", m.clean), fields("released", m.released);
  } else if constexpr (std::is_same_v<T, ExternalTerm>) {
    fields("signal", m.signal);
  } else if constexpr (std::is_same_v<T, Fatal>) {
    fields("code", m.code), fields("message", m.message), fields("detail", m.detail);
    fields("hint", m.hint);
  } else if constexpr (std::is_same_v<T, Welcome>) {
    fields("generation", m.generation), fields("concurrency", m.concurrency);
  } else if constexpr (std::is_same_v<T, SetLimits>) {
    fields("concurrency", m.concurrency);
  } else if constexpr (std::is_same_v<T, Wake> || std::is_same_v<T, DatabaseWant> ||
                       std::is_same_v<T, DatabasePermit>) {
    // Its type says it all.
  } else {
    static_assert(std::is_same_v<T, Drain>);
    fields("deadline_ms", m.deadline_milliseconds), fields("reason", m.reason);
  }
}

// --- writing

struct WriteFields {
  json::Writer& writer;
  void operator()(std::string_view name, const std::string& text) {
    writer.key(name).string(clipped(text));
  }
  void operator()(std::string_view name, bool truth) { writer.key(name).boolean(truth); }
  template <std::integral T>
  void operator()(std::string_view name, T number) {
    writer.key(name).integer(static_cast<std::int64_t>(number));
  }
  void operator()(std::string_view name, const std::vector<std::int64_t>& numbers) {
    writer.key(name).begin_array();
    for (const std::int64_t number : numbers) writer.integer(number);
    writer.end_array();
  }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
};

template <class Variant>
std::string encode_any(const Variant& message) {
  json::Writer writer;
  writer.begin_object().key("v").integer(kProtocol);
  std::visit(
      [&](const auto& m) {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, Unknown>) {
          writer.key("t").string(m.type);
        } else {
          writer.key("t").string(type_of(&m));
          WriteFields fields{writer};
          visit_members(fields, m);
        }
      },
      message
  );
  return writer.end_object().take();
}

// --- reading

tl::unexpected<Error> bad_packet(std::string detail) {
  return fail(
      {.kind = "bad_packet",
       .message = "A packet between supervisor and worker cannot be read.",
       .detail = std::move(detail),
       .hint = "Build the worker program with the same version of pgflow as the supervisor."}
  );
}

struct ReadFields {
  const json::Value& packet;
  std::string problem{};  // the first one

  void operator()(std::string_view name, std::string& text) {
    if (const auto* node = member(name); node != nullptr) {
      node->as_string() ? void(text = node->text) : wrong(name, "a text");
    }
  }
  void operator()(std::string_view name, bool& truth) {
    if (const auto* node = member(name); node != nullptr) {
      node->as_bool() ? void(truth = node->flag) : wrong(name, "true or false");
    }
  }
  template <std::integral T>
  void operator()(std::string_view name, T& number) {
    const auto* node = member(name);
    if (node == nullptr) return;
    const auto value = node->as_int64();
    if (!value || !std::in_range<T>(*value)) return wrong(name, "an integer");
    number = static_cast<T>(*value);
  }
  void operator()(std::string_view name, std::vector<std::int64_t>& numbers) {
    const auto* node = member(name);
    if (node == nullptr) return;
    if (node->type != json::Type::array) return wrong(name, "an array of integers");
    for (const auto& item : node->items) {
      const auto value = item.as_int64();
      if (!value) return wrong(name, "an array of integers");
      numbers.push_back(*value);
    }
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& value) {
    if (packet.find(name) != nullptr) (*this)(name, value.emplace());
  }

 private:
  const json::Value* member(std::string_view name) {
    const auto* node = packet.find(name);
    if (node == nullptr) wrong(name, "there");
    return node;
  }
  void wrong(std::string_view name, std::string_view wanted) {
    if (problem.empty()) problem = "\"" + std::string(name) + "\" must be " + std::string(wanted);
  }
};

template <class Variant, std::size_t I = 0>
Result<Variant> read_as(const std::string& type, const json::Value& packet) {
  using Message = std::variant_alternative_t<I, Variant>;
  if constexpr (std::is_same_v<Message, Unknown>) {
    return Variant(Unknown{type});
  } else {
    if (type != type_of(static_cast<const Message*>(nullptr))) {
      return read_as<Variant, I + 1>(type, packet);
    }
    Message message;
    ReadFields fields{packet};
    visit_members(fields, message);
    if (!fields.problem.empty()) return bad_packet(type + ": " + fields.problem + ".");
    return Variant(std::move(message));
  }
}

template <class Variant>
Result<Variant> decode_any(std::string_view packet) {
  if (packet.size() > kMaxPacketBytes) return bad_packet("It is longer than 64 KiB.");
  const auto parsed = json::parse(packet);
  if (!parsed) return bad_packet(parsed.error().message);
  const auto* version = parsed->find("v");
  const auto* type = parsed->find("t");
  if (version == nullptr || !version->as_int64() || type == nullptr || !type->as_string()) {
    return bad_packet("It is no object with a version \"v\" and a type \"t\".");
  }
  return read_as<Variant>(type->text, *parsed);
}

}  // namespace

std::string encode(const FromWorker& message) {
  return encode_any(message);
}
std::string encode(const FromSupervisor& message) {
  return encode_any(message);
}

Result<FromWorker> decode_from_worker(std::string_view packet) {
  return decode_any<FromWorker>(packet);
}
Result<FromSupervisor> decode_from_supervisor(std::string_view packet) {
  return decode_any<FromSupervisor>(packet);
}

}  // namespace pgflow::contract
