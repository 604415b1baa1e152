// "…%s…".format([…]): %s %d %f %e %b %o %x %X with an optional precision for %f and %e.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "expr/cel/functions.h"
#include "expr/cel/time_text.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

constexpr int kPrecisionMax = 100;

class Formatter {
 public:
  explicit Formatter(CallContext& context) : context_(context) {}

  Val run(std::string_view pattern, const Val& arguments) {
    size_t next = 0;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '%') {
        const size_t end = std::min(pattern.find('%', i), pattern.size());
        if (!put(pattern.substr(i, end - i))) return exhausted();
        i = end - 1;
        continue;
      }
      if (++i >= pattern.size())
        return Val::error("could not parse formatting clause: unexpected end of string");
      if (pattern[i] == '%') {
        if (!put("%")) return exhausted();
        continue;
      }
      int precision = 6;
      if (Val error = read_precision(pattern, i, precision); error.is_error()) return error;
      if (std::string_view("sdfebxXo").find(pattern[i]) == std::string_view::npos) {
        return Val::error("could not parse formatting clause: unrecognized formatting clause \"" +
                          std::string(pattern.substr(
                              i, std::max<size_t>(1, utf8::sequence_length(pattern.substr(i))))) +
                          "\"");
      }
      if (next >= arguments.list_size()) {
        return Val::error("index " + std::to_string(next) +
                          " out of range: the format needs more arguments");
      }
      if (Val error = clause(pattern[i], precision, arguments.list_at(next++)); error.is_error())
        return error;
    }
    return Val::string(std::move(out_));
  }

 private:
  bool put(std::string_view text) {
    if (!context_.budget.spend_bytes(text.size()) ||
        !context_.budget.spend_steps(1 + price::reading(text.size())))
      return false;
    out_ += text;
    return true;
  }
  Val done(std::string_view text) { return put(text) ? Val() : exhausted(); }

  static Val read_precision(std::string_view pattern, size_t& i, int& precision) {
    if (pattern[i] != '.') return Val();
    const char* begin = pattern.data() + i + 1;
    const auto [end, error] = std::from_chars(begin, pattern.data() + pattern.size(), precision);
    if (error != std::errc() || precision < 0 || precision > kPrecisionMax || *begin == '-') {
      return Val::error("could not parse formatting clause: precision must be a number from 0 to " +
                        std::to_string(kPrecisionMax));
    }
    i = static_cast<size_t>(end - pattern.data());
    if (i >= pattern.size())
      return Val::error("could not parse formatting clause: unexpected end of string");
    return Val();
  }

  static Val refuse(std::string_view rule, const Val& given) {
    return Val::error("error during formatting: " + std::string(rule) + ", was given " +
                      std::string(type_name(given.kind())));
  }

  Val clause(char kind, int precision, const Val& value) {
    switch (kind) {
      case 's':
        return text(value);
      case 'd':
        if (!value.is_number()) return refuse("decimal clause can only be used on integers", value);
        return text(value);
      case 'f':
        if (!value.is_number())
          return refuse("fixed-point clause can only be used on numbers", value);
        return real(value, precision, std::chars_format::fixed);
      case 'e':
        if (!value.is_number())
          return refuse("scientific clause can only be used on numbers", value);
        return real(value, precision, std::chars_format::scientific);
      case 'b':
        if (value.is(Kind::Bool)) return done(value.as_bool() ? "1" : "0");
        if (!value.is(Kind::Int) && !value.is(Kind::Uint))
          return refuse("only integers and bools can be formatted as binary", value);
        return based(value, 2, false);
      case 'o':
        if (!value.is(Kind::Int) && !value.is(Kind::Uint))
          return refuse("octal clause can only be used on integers", value);
        return based(value, 8, false);
      default:
        return hex(value, kind == 'X');
    }
  }

  Val real(const Val& value, int precision, std::chars_format form) {
    const double number = value.is(Kind::Double) ? value.as_double()
                          : value.is(Kind::Int)  ? static_cast<double>(value.as_int())
                                                 : static_cast<double>(value.as_uint());
    if (!std::isfinite(number)) return done(format_plain(number));
    char buffer[320 + kPrecisionMax];
    const char* end = std::to_chars(buffer, buffer + sizeof buffer, number, form, precision).ptr;
    return done(std::string_view(buffer, static_cast<size_t>(end - buffer)));
  }

  Val based(const Val& value, int base, bool upper) {
    char buffer[72];
    char* end = value.is(Kind::Int)
                    ? std::to_chars(buffer, buffer + sizeof buffer, value.as_int(), base).ptr
                    : std::to_chars(buffer, buffer + sizeof buffer, value.as_uint(), base).ptr;
    if (upper)
      std::transform(buffer, end, buffer,
                     [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    return done(std::string_view(buffer, static_cast<size_t>(end - buffer)));
  }

  Val hex(const Val& value, bool upper) {
    if (value.is(Kind::Int) || value.is(Kind::Uint)) return based(value, 16, upper);
    if (!value.is(Kind::String) && !value.is(Kind::Bytes)) {
      return refuse("only integers, byte buffers, and strings can be formatted as hex", value);
    }
    const std::string_view octets = value.as_string();
    if (!context_.budget.spend_bytes(octets.size() * 2) ||
        !context_.budget.spend_steps(price::scanning(octets.size())))
      return exhausted();
    const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (const char octet : octets) {
      out_ += digits[static_cast<unsigned char>(octet) >> 4];
      out_ += digits[octet & 0xF];
    }
    return Val();
  }

  Val text(const Val& value) {
    switch (value.kind()) {
      case Kind::Null:
        return done("null");
      case Kind::Bool:
        return done(value.as_bool() ? "true" : "false");
      case Kind::Int:
        return done(std::to_string(value.as_int()));
      case Kind::Uint:
        return done(std::to_string(value.as_uint()));
      case Kind::Double:
        return done(format_plain(value.as_double()));
      case Kind::String:
        return done(value.as_string());
      case Kind::Bytes:
        return bytes(value.as_string());
      case Kind::Type:
        return done(type_name(value.as_type()));
      case Kind::Timestamp:
        return done(format_timestamp(value.seconds(), value.nanos()));
      case Kind::Duration:
        return done(format_duration(value.duration_ns()));
      case Kind::List:
        return list(value);
      case Kind::Map:
        return map(value);
      case Kind::Optional:
      case Kind::Ip:
      case Kind::Cidr:
      case Kind::Error:
      case Kind::Absent:
        break;
    }
    return refuse(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
        value);
  }

  // Each run of invalid UTF-8 becomes one replacement character.
  Val bytes(std::string_view octets) {
    if (!context_.budget.spend_steps(price::scanning(octets.size())) ||
        !context_.budget.spend_bytes(octets.size()))
      return exhausted();
    bool in_bad_run = false;
    std::string valid;
    for (size_t i = 0; i < octets.size();) {
      const size_t length = utf8::sequence_length(octets.substr(i));
      if (length == 0 && !in_bad_run) valid += "\xEF\xBF\xBD";
      if (length > 0) valid.append(octets, i, length);
      in_bad_run = length == 0;
      i += std::max<size_t>(1, length);
    }
    return done(valid);
  }

  Val list(const Val& value) {
    if (!put("[")) return exhausted();
    for (size_t i = 0; i < value.list_size(); ++i) {
      if (i > 0 && !put(", ")) return exhausted();
      if (Val error = text(value.list_at(i)); error.is_error()) return error;
    }
    return done("]");
  }

  Val map(const Val& value) {
    const uint64_t rounds = price::rounds(value.map_size());
    std::vector<std::pair<std::string, std::string>> entries;
    std::string before = std::exchange(out_, {});
    for (size_t i = 0; i < value.map_size(); ++i) {
      const auto [key, content] = value.map_at(i);
      if (Val error = text(key); error.is_error()) return error;
      std::string key_text = std::exchange(out_, {});
      // Ordering reads each key in every round.
      if (!context_.budget.spend_steps(rounds * (1 + price::reading(key_text.size()))) ||
          !context_.budget.spend_bytes(2 * sizeof(std::string)))
        return exhausted();
      if (Val error = text(content); error.is_error()) return error;
      entries.emplace_back(std::move(key_text), std::exchange(out_, {}));
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    out_ = std::move(before);
    if (!put("{")) return exhausted();
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!put(i > 0 ? ", " : "") || !put(entries[i].first) || !put(": ") ||
          !put(entries[i].second))
        return exhausted();
    }
    return done("}");
  }

  CallContext& context_;
  std::string out_;
};

Val format(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String) || !args[1].is(Kind::List)) return no_overload("format", args);
  return Formatter(context).run(args[0].as_string(), args[1]);
}

constexpr Function kFormatFunctions[] = {{"format", format, 1, 1, true}};

}  // namespace

std::span<const Function> format_functions() { return kFormatFunctions; }

}  // namespace pawl::expr
