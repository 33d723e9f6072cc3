// JSON Schema 2020-12 of a C++ type, from its TypeInfo.
#include <map>

#include <pgflow/json.hpp>

#include "json/codec.hpp"
#include "json/writer.hpp"

namespace pgflow {
namespace {

using namespace detail;
using json::quoted;

// Appends with commas between.
class List {
 public:
  void add(const std::string& text) { text_ += (text_.empty() ? "" : ",") + text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class SchemaWriter {
 public:
  std::string document(const TypeInfo& type) {
    std::string body = type.kind == Kind::object ? root(type) : of(type);
    if (definitions_.empty()) {
      return body;
    }
    List list;
    for (const auto& [name, schema] : definitions_) {
      list.add(quoted(name) + ":" + schema);
    }
    body.pop_back();
    return body + ",\"$defs\":{" + list.text() + "}}";
  }

 private:
  std::string of(const TypeInfo& type) {
    switch (type.kind) {
      case Kind::null:
        return R"({"type":"null"})";
      case Kind::boolean:
        return R"({"type":"boolean"})";
      case Kind::integer:
      case Kind::unsigned_integer:
        return integer(type);
      case Kind::real:
        return R"({"type":"number"})";
      case Kind::string:
        return R"({"type":"string"})";
      case Kind::raw:
        return "{}";
      case Kind::enumeration: {
        List names;
        for (const EnumValue& value : json::values_of(type)) {
          names.add(quoted(value.name));
        }
        return "{\"enum\":[" + names.text() + "]}";
      }
      case Kind::optional:
        return "{\"anyOf\":[" + of(type.element()) + R"(,{"type":"null"}]})";
      case Kind::sequence:
        return R"({"type":"array","items":)" + of(type.element()) + "}";
      case Kind::map:
        return R"({"type":"object","additionalProperties":)" + of(type.element()) + "}";
      case Kind::tuple: {
        List items;
        for (const FieldInfo& field : json::fields_of(type)) {
          items.add(of(field.type()));
        }
        return R"({"type":"array","prefixItems":[)" + items.text() + R"(],"items":false})";
      }
      case Kind::variant: {
        List schemas;
        for (const TypeRef alternative : json::alternatives_of(type)) {
          schemas.add(type.tag.empty() ? of(alternative()) : object(alternative(), type.tag));
        }
        return (type.tag.empty() ? R"({"anyOf":[)" : R"({"oneOf":[)") + schemas.text() + "]}";
      }
      case Kind::via:
        return type.format.empty() ? of(type.element())
                                   : R"({"type":"string","format":)" + quoted(type.format) + "}";
      case Kind::object:
        return reference(type);
    }
    return "{}";
  }

  static std::string integer(const TypeInfo& type) {
    const bool is_signed = type.kind == Kind::integer;
    if (type.size == 8) {
      return is_signed ? R"({"type":"integer","format":"int64"})"
                       : R"({"type":"integer","format":"uint64","minimum":0})";
    }
    const int bits = 8 * type.size - (is_signed ? 1 : 0);
    const long long most = (1LL << bits) - 1;
    return R"({"type":"integer","minimum":)" + std::to_string(is_signed ? -most - 1 : 0) +
           ",\"maximum\":" + std::to_string(most) + "}";
  }

  // Written in place, unless the type refers to itself.
  std::string root(const TypeInfo& type) {
    std::string body = object(type);
    return definitions_.contains(std::string(type.name)) ? of(type) : body;
  }

  // Other objects are written once, under $defs.
  std::string reference(const TypeInfo& type) {
    const std::string name(type.name);
    if (definitions_.try_emplace(name).second) {
      definitions_[name] = object(type);
    }
    return "{\"$ref\":" + quoted("#/$defs/" + name) + "}";
  }

  std::string object(const TypeInfo& type, std::string_view tag = {}) {
    List properties, required;
    if (!tag.empty()) {
      properties.add(quoted(tag) + ":{\"const\":" + quoted(json::tag_name(type)) + "}");
      required.add(quoted(tag));
    }
    if (type.kind == Kind::object) {
      for (const FieldInfo& field : json::fields_of(type)) {
        const TypeInfo& field_type = field.type();
        properties.add(
            quoted(field.name) + ":" + of(field.skippable ? field_type.element() : field_type)
        );
        if (field_type.kind != Kind::optional) {
          required.add(quoted(field.name));
        }
      }
    }
    return R"({"type":"object","properties":{)" + properties.text() + "},\"required\":[" +
           required.text() + "]" + (type.strict ? ",\"additionalProperties\":false" : "") + "}";
  }

  std::map<std::string, std::string> definitions_;
};

}  // namespace

std::string detail::schema(const TypeInfo& type) {
  return SchemaWriter().document(type);
}

}  // namespace pgflow
