#include "expr/cel/show.h"

#include "expr/cel/network.h"
#include "expr/cel/time_text.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

constexpr size_t kBytesMax = 4096;

void append_quoted(std::string& out, std::string_view text, bool bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (octet < 0x20 || octet == 0x7F || (bytes && octet >= 0x80)) {
      ((out += "\\x") += kHex[octet >> 4]) += kHex[octet & 0xF];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append(std::string& out, const Val& value);

void append_list(std::string& out, const Val& list) {
  out += '[';
  for (size_t i = 0; i < list.list_size() && out.size() < kBytesMax; ++i) {
    if (i > 0) out += ", ";
    append(out, list.list_at(i));
  }
  out += ']';
}

void append_map(std::string& out, const Val& map) {
  out += '{';
  for (size_t i = 0; i < map.map_size() && out.size() < kBytesMax; ++i) {
    if (i > 0) out += ", ";
    const auto [key, value] = map.map_at(i);
    append(out, key);
    out += ": ";
    append(out, value);
  }
  out += '}';
}

void append(std::string& out, const Val& value) {
  switch (value.kind()) {
    case Kind::Null:
      out += "null";
      return;
    case Kind::Bool:
      out += value.as_bool() ? "true" : "false";
      return;
    case Kind::Int:
      out += std::to_string(value.as_int());
      return;
    case Kind::Uint:
      out += std::to_string(value.as_uint()) + "u";
      return;
    case Kind::Double: {
      const std::string text = format_general(value.as_double());
      out += text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
      return;
    }
    case Kind::String:
      append_quoted(out, value.as_string(), false);
      return;
    case Kind::Bytes:
      out += 'b';
      append_quoted(out, value.as_string(), true);
      return;
    case Kind::List:
      append_list(out, value);
      return;
    case Kind::Map:
      append_map(out, value);
      return;
    case Kind::Type:
      out += type_name(value.as_type());
      return;
    case Kind::Timestamp:
      out += "timestamp(\"" + format_timestamp(value.seconds(), value.nanos()) + "\")";
      return;
    case Kind::Duration:
      out += "duration(\"" + format_duration(value.duration_ns()) + "\")";
      return;
    case Kind::Optional:
      out += value.has_value() ? "optional.of(" : "optional.none(";
      if (value.has_value()) append(out, value.optional_value());
      out += ')';
      return;
    case Kind::Ip:
      out += "ip(\"" + format_ip(value.as_ip()) + "\")";
      return;
    case Kind::Cidr:
      out += "cidr(\"" + format_ip(value.as_cidr().address) + "/" +
             std::to_string(value.as_cidr().prefix) + "\")";
      return;
    case Kind::Error:
      out += "error: " + value.as_error().message;
      return;
    case Kind::Absent:
      out += "absent";
      return;
  }
}

}  // namespace

std::string show(const Val& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace pawl::expr
