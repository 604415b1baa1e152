// Signatures of the library, for the checker.
#include <fmt/format.h>

#include "expr/cel/checker.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kDeclarations[] = {
    "_?_:_(bool, A, A) A",
    "!_(bool) bool",
    "-_(int) int",
    "-_(double) double",
    "_==_(A, A) bool",
    "_!=_(A, A) bool",
    "@in(A, list<A>) bool",
    "@in(A, map<A, B>) bool",
    "_[_](list<A>, int) A",
    "_[_](map<A, B>, A) B",
    "_+_(int, int) int",
    "_+_(uint, uint) uint",
    "_+_(double, double) double",
    "_+_(string, string) string",
    "_+_(bytes, bytes) bytes",
    "_+_(list<A>, list<A>) list<A>",
    "_+_(timestamp, duration) timestamp",
    "_+_(duration, timestamp) timestamp",
    "_+_(duration, duration) duration",
    "_-_(int, int) int",
    "_-_(uint, uint) uint",
    "_-_(double, double) double",
    "_-_(timestamp, timestamp) duration",
    "_-_(timestamp, duration) timestamp",
    "_-_(duration, duration) duration",
    "_*_(int, int) int",
    "_*_(uint, uint) uint",
    "_*_(double, double) double",
    "_/_(int, int) int",
    "_/_(uint, uint) uint",
    "_/_(double, double) double",
    "_%_(int, int) int",
    "_%_(uint, uint) uint",

    "int(int) int",
    "int(uint) int",
    "int(double) int",
    "int(string) int",
    "int(timestamp) int",
    "int(duration) int",
    "uint(int) uint",
    "uint(uint) uint",
    "uint(double) uint",
    "uint(string) uint",
    "double(int) double",
    "double(uint) double",
    "double(double) double",
    "double(string) double",
    "string(int) string",
    "string(uint) string",
    "string(double) string",
    "string(bool) string",
    "string(string) string",
    "string(bytes) string",
    "string(timestamp) string",
    "string(duration) string",
    "string(net.IP) string",
    "string(net.CIDR) string",
    "string(type<A>) string",
    "bytes(bytes) bytes",
    "bytes(string) bytes",
    "bool(bool) bool",
    "bool(string) bool",
    "timestamp(string) timestamp",
    "timestamp(int) timestamp",
    "timestamp(timestamp) timestamp",
    "duration(string) duration",
    "duration(int) duration",
    "duration(duration) duration",
    "dyn(A) dyn",
    "type(A) type<A>",
    "size(string) int",
    "size(bytes) int",
    "size(list<A>) int",
    "size(map<A, B>) int",
    "string:size() int",
    "bytes:size() int",
    "list<A>:size() int",
    "map<A, B>:size() int",

    "string:contains(string) bool",
    "string:startsWith(string) bool",
    "string:endsWith(string) bool",
    "string:matches(string) bool",
    "matches(string, string) bool",
    "string:charAt(int) string",
    "string:indexOf(string) int",
    "string:indexOf(string, int) int",
    "string:lastIndexOf(string) int",
    "string:lastIndexOf(string, int) int",
    "string:lowerAscii() string",
    "string:upperAscii() string",
    "string:replace(string, string) string",
    "string:replace(string, string, int) string",
    "string:split(string) list<string>",
    "string:split(string, int) list<string>",
    "string:substring(int) string",
    "string:substring(int, int) string",
    "string:trim() string",
    "list<string>:join() string",
    "list<string>:join(string) string",
    "string:reverse() string",
    "strings.quote(string) string",
    "string:format(list<dyn>) string",

    "math.ceil(double) double",
    "math.floor(double) double",
    "math.round(double) double",
    "math.trunc(double) double",
    "math.abs(int) int",
    "math.abs(uint) uint",
    "math.abs(double) double",
    "math.sign(int) int",
    "math.sign(uint) uint",
    "math.sign(double) double",
    "math.sqrt(int) double",
    "math.sqrt(uint) double",
    "math.sqrt(double) double",
    "math.isNaN(double) bool",
    "math.isInf(double) bool",
    "math.isFinite(double) bool",
    "math.bitAnd(int, int) int",
    "math.bitAnd(uint, uint) uint",
    "math.bitOr(int, int) int",
    "math.bitOr(uint, uint) uint",
    "math.bitXor(int, int) int",
    "math.bitXor(uint, uint) uint",
    "math.bitNot(int) int",
    "math.bitNot(uint) uint",
    "math.bitShiftLeft(int, int) int",
    "math.bitShiftLeft(uint, int) uint",
    "math.bitShiftRight(int, int) int",
    "math.bitShiftRight(uint, int) uint",

    "list<A>:slice(int, int) list<A>",
    "list<A>:flatten() list<dyn>",
    "list<A>:flatten(int) list<dyn>",
    "list<A>:distinct() list<A>",
    "list<A>:sort() list<A>",
    "list<A>:reverse() list<A>",
    "list<A>:first() optional_type<A>",
    "list<A>:last() optional_type<A>",
    "lists.range(int) list<int>",
    "sets.contains(list<A>, list<A>) bool",
    "sets.equivalent(list<A>, list<A>) bool",
    "sets.intersects(list<A>, list<A>) bool",

    "optional.of(A) optional_type<A>",
    "optional.ofNonZeroValue(A) optional_type<A>",
    "optional.none() optional_type<A>",
    "optional.unwrap(list<optional_type<A>>) list<A>",
    "list<optional_type<A>>:unwrapOpt() list<A>",
    "optional_type<A>:hasValue() bool",
    "optional_type<A>:value() A",
    "optional_type<A>:or(optional_type<A>) optional_type<A>",
    "optional_type<A>:orValue(A) A",

    "isIP(string) bool",
    "isCIDR(string) bool",
    "ip(string) net.IP",
    "cidr(string) net.CIDR",
    "ip.isCanonical(string) bool",
    "net.CIDR:ip() net.IP",
    "net.IP:family() int",
    "net.IP:isUnspecified() bool",
    "net.IP:isLoopback() bool",
    "net.IP:isGlobalUnicast() bool",
    "net.IP:isLinkLocalMulticast() bool",
    "net.IP:isLinkLocalUnicast() bool",
    "net.CIDR:containsIP(net.IP) bool",
    "net.CIDR:containsIP(string) bool",
    "net.CIDR:containsCIDR(net.CIDR) bool",
    "net.CIDR:containsCIDR(string) bool",
    "net.CIDR:masked() net.CIDR",
    "net.CIDR:prefixLength() int",

    "base64.encode(bytes) string",
    "base64.decode(string) bytes",
};

using Overloads = std::map<std::string, std::vector<Overload>, std::less<>>;

void declare(Overloads& overloads, std::string_view text) {
  auto parsed = parse_overload(text);
  PAWL_CHECK(parsed.ok());
  overloads[parsed->first].push_back(std::move(parsed->second));
}

}  // namespace

Result<std::pair<std::string, Overload>> parse_overload(std::string_view text) {
  const auto wrong = [&] {
    return Error{ErrorCode::Malformed,
                 "not a signature: '" + std::string(text.substr(0, 80)) + "'"};
  };
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return wrong();
  Overload overload;
  std::string_view name = text.substr(0, open);
  if (const size_t colon = name.find(':'); colon != std::string_view::npos && name != "_?_:_") {
    PAWL_TRY(Type receiver, Type::parse(name.substr(0, colon)));
    overload.arguments.push_back(std::move(receiver));
    overload.receiver = true;
    name = name.substr(colon + 1);
  }
  // One list of types is the parameter list of a made-up type.
  if (const std::string_view arguments = text.substr(open + 1, close - open - 1);
      !arguments.empty()) {
    PAWL_TRY(Type all, Type::parse("arguments<" + std::string(arguments) + ">"));
    for (Type& argument : all.params) overload.arguments.push_back(std::move(argument));
  }
  PAWL_TRY(overload.result, Type::parse(text.substr(close + 1)));
  return std::pair(std::string(name), std::move(overload));
}

const Overloads& library_overloads() {
  static const Overloads* const kOverloads = [] {
    auto* overloads = new Overloads;
    for (const std::string_view text : kDeclarations) declare(*overloads, text);
    for (const char* relation : {"_<_", "_<=_", "_>_", "_>=_"}) {
      for (const char* type : {"bool", "string", "bytes", "timestamp", "duration"}) {
        declare(*overloads, fmt::format("{}({}, {}) bool", relation, type, type));
      }
      for (const char* left : {"int", "uint", "double"}) {
        for (const char* right : {"int", "uint", "double"}) {
          declare(*overloads, fmt::format("{}({}, {}) bool", relation, left, right));
        }
      }
    }
    for (const std::string part :
         {"getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
          "getHours", "getMinutes", "getSeconds", "getMilliseconds"}) {
      declare(*overloads, "timestamp:" + part + "() int");
      declare(*overloads, "timestamp:" + part + "(string) int");
      if (part != "getDate" && part.find("Day") == std::string::npos && part != "getFullYear" &&
          part != "getMonth") {
        declare(*overloads, "duration:" + part + "() int");
      }
    }
    return overloads;
  }();
  return *kOverloads;
}

Declarations Declarations::workflow() {
  Declarations declarations;
  declarations.mixed_arithmetic = true;
  for (const char* name :
       {"steps", "inputs", "workflow", "context", "iter", "secrets", "results", "error"}) {
    declarations.variables[name] = Type::map(Type::named("string"), Type::dyn());
  }
  return declarations;
}

}  // namespace pawl::expr
