#include "cli/json_layout.h"

#include "base/json_writer.h"

namespace pawl::cli {
namespace {

constexpr size_t kLineMax = 80;

void append(std::string& out, const Value& value, size_t indent) {
  bool nests = value.is_array() || value.is_object();
  std::string compact = value.json();
  if (!nests || compact.size() + indent <= kLineMax) {
    out += compact;
    return;
  }
  std::string margin = "\n" + std::string(indent + 2, ' ');
  bool first = true;
  auto begin_entry = [&] {
    out += (first ? "" : ",") + margin;
    first = false;
  };
  out += value.is_array() ? '[' : '{';
  if (value.is_array()) {
    for (const Value& element : value.as_array()) {
      begin_entry();
      append(out, element, indent + 2);
    }
  } else {
    for (const Value::Member& member : value.as_object()) {
      begin_entry();
      json::append_quoted(out, member.key);
      out += ": ";
      append(out, member.value, indent + 2);
    }
  }
  out += "\n" + std::string(indent, ' ');
  out += value.is_array() ? ']' : '}';
}

}  // namespace

std::string laid_out(const Value& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

std::string laid_out_json(std::string_view json) {
  auto value = Value::parse(json);
  return value.ok() ? laid_out(*value) : std::string(json);
}

std::string diagram_json(std::string_view format, std::string_view picture) {
  json::ObjectWriter w;
  w.field("format", format).field("diagram", picture);
  return w.close();
}

}  // namespace pawl::cli
