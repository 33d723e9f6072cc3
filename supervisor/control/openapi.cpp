// Writes the OpenAPI description from the table of routes and the types of the documents.
#include <algorithm>
#include <set>

#include "json/writer.hpp"
#include "supervisor/control/documents.hpp"
#include "supervisor/control/routes.hpp"

namespace pgflow::supervisor {
namespace {

using json::Writer;

struct Answer {
  int status;
  std::string_view type;
  std::string_view schema;  // empty: text
};

Answer answer_of(const Route& route) {
  switch (route.operation) {
    case Operation::livez:
    case Operation::startupz:
    case Operation::readyz:
    case Operation::metrics:
      return {200, "text/plain", ""};
    case Operation::status:
      return {200, "application/json", "Status"};
    case Operation::exits:
      return {200, "application/json", "Exits"};
    case Operation::events:
      return {200, "application/json", "Events"};
    case Operation::logs:
      return {200, "application/json", "Logs"};
    case Operation::openapi:
      return {200, "application/json", ""};
    default:
      return {202, "application/json", "Order"};
  }
}

// A type's own schema, its parts under "#/components/schemas" instead of "$defs".
void write_schemas(
    Writer& out, std::set<std::string>& known, std::string_view name, std::string text
) {
  static constexpr std::string_view kOld = "#/$defs/";
  static constexpr std::string_view kNew = "#/components/schemas/";
  for (std::size_t at = 0; (at = text.find(kOld, at)) != std::string::npos; at += kNew.size()) {
    text.replace(at, kOld.size(), kNew);
  }
  json::Value tree = *json::parse(text);
  std::vector<json::Member> parts;
  std::erase_if(tree.members, [&](json::Member& member) {
    if (member.name != "$defs") return false;
    parts = std::move(member.value.members);
    return true;
  });
  if (known.insert(std::string(name)).second) out.key(name).value(tree);
  for (const json::Member& part : parts) {
    if (known.insert(part.name).second) out.key(part.name).value(part.value);
  }
}

void write_parameters(Writer& out, const Route& route) {
  std::string_view path = route.path;
  out.key("parameters").begin_array();
  for (auto at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    out.begin_object();
    out.key("name").string(path.substr(at + 1, path.find('}', at) - at - 1));
    out.key("in").string("path").key("required").boolean(true);
    out.key("schema").begin_object().key("type").string("string").end_object();
    out.end_object();
  }
  for (const std::string_view name : route.query) {
    out.begin_object().key("name").string(name).key("in").string("query");
    out.key("schema").begin_object().key("type").string("string").end_object();
    out.end_object();
  }
  out.end_array();
}

void write_body(Writer& out, const Route& route) {
  if (route.body.empty()) return;
  json::Value schema =
      *json::parse(settings::json_schema({"", "", route.body}), {.source = "routes.cpp"});
  std::erase_if(schema.members, [](const json::Member& member) {
    return member.name == "$schema" || member.name == "title" || member.name == "description";
  });
  out.key("requestBody").begin_object().key("content").begin_object();
  out.key("application/json").begin_object().key("schema").value(schema).end_object();
  out.end_object().end_object();
}

void write_content(Writer& out, std::string_view type, std::string_view schema) {
  out.key("content").begin_object().key(type).begin_object();
  out.key("schema").begin_object();
  if (!schema.empty()) out.key("$ref").string("#/components/schemas/" + std::string(schema));
  out.end_object().end_object().end_object();
}

void write_operation(Writer& out, const Route& route) {
  std::string method(route.method);
  std::ranges::transform(method, method.begin(), [](char c) {
    return static_cast<char>(c - 'A' + 'a');
  });
  out.key(method).begin_object();
  out.key("summary").string(route.summary);
  write_parameters(out, route);
  write_body(out, route);
  out.key("responses").begin_object();
  const Answer answer = answer_of(route);
  out.key(std::to_string(answer.status)).begin_object();
  out.key("description")
      .string(
          answer.status == 202 ? "Wanted from now on; /v1/status tells when it is true." : "OK"
      );
  write_content(out, answer.type, answer.schema);
  out.end_object();
  if (route.is_probe()) {
    out.key("503").begin_object().key("description").string("Not so.");
    write_content(out, "text/plain", "");
    out.end_object();
  }
  out.key("default").begin_object().key("description").string("What is wrong, and what to do.");
  write_content(out, "application/problem+json", "Problem");
  out.end_object();
  out.end_object().end_object();
}

}  // namespace

std::string openapi() {
  Writer out(Writer::Style::indented);
  out.begin_object();
  out.key("openapi").string("3.1.0");
  out.key("info").begin_object();
  out.key("title").string("pgflow's control room");
  out.key("version").string("1");
  out.key("description")
      .string(
          "A running supervisor, on its UNIX socket and, read-only without a token, over TCP. An "
          "order changes what is wanted, at once; watch /v1/status until it is true."
      );
  out.end_object();
  out.key("paths").begin_object();
  std::set<std::string_view> written;
  for (const Route& route : routes()) {
    if (!written.insert(route.path).second) continue;
    out.key(route.path).begin_object();
    for (const Route& other : routes()) {
      if (other.path == route.path) write_operation(out, other);
    }
    out.end_object();
  }
  out.end_object();
  out.key("components").begin_object().key("schemas").begin_object();
  std::set<std::string> known;
  write_schemas(out, known, "Status", json_schema<StatusDocument>());
  write_schemas(out, known, "Exits", json_schema<ExitsDocument>());
  write_schemas(out, known, "Events", json_schema<EventsDocument>());
  write_schemas(out, known, "Logs", json_schema<LogsDocument>());
  write_schemas(out, known, "Order", json_schema<OrderDocument>());
  write_schemas(out, known, "Problem", json_schema<ProblemDocument>());
  out.end_object().end_object();
  out.end_object();
  return out.take() + "\n";
}

}  // namespace pgflow::supervisor
