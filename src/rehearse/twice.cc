#include "rehearse/twice.h"

#include <algorithm>
#include <string>

#include "actions/action.h"

namespace pawl::rehearse {
namespace {

// These get no key, and repeating them has a different effect.
constexpr std::string_view kUnsafe[] = {"shell.exec", "fs.append", "fs.move", "fs.delete"};
constexpr std::string_view kSafeMethods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};

bool is_http(std::string_view action) { return action.substr(0, 5) == "http."; }

template <size_t N>
bool among(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string method_of(std::string_view action, const Value& params) {
  if (action != "http.request") return action == "http.post" ? "POST" : "GET";
  const Value* given = params.find("method");
  std::string method = given != nullptr && given->is_string() ? given->as_string() : "GET";
  std::transform(method.begin(), method.end(), method.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return method;
}

}  // namespace

bool carries_key(std::string_view action) {
  return is_http(action) || actions::find_action(action) == nullptr;
}

Twice twice_of(std::string_view action, const Value& params, std::optional<bool> said_unsafe) {
  if (said_unsafe) return *said_unsafe ? Twice::Unsafe : Twice::Harmless;
  if (is_http(action))
    return among(kSafeMethods, method_of(action, params)) ? Twice::Harmless : Twice::Keyed;
  if (among(kUnsafe, action)) return Twice::Unsafe;
  return carries_key(action) ? Twice::Keyed : Twice::Harmless;
}

}  // namespace pawl::rehearse
