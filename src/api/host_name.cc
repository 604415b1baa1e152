#include "api/host_name.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/read_number.h"
#include "http/parser.h"

namespace pawl::api {
namespace {

bool is_port(std::string_view text) {
  if (text.empty()) return true;  // "host:" is the usual port
  int number = 0;
  return read_number(text, number) && number >= 0 && number <= 65535;
}

bool is_address(int family, std::string_view text) {
  in6_addr address{};  // room for either
  return ::inet_pton(family, std::string(text).c_str(), &address) == 1;
}

bool is_label(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

bool ends_in_localhost(std::string_view host) {
  for (size_t dot = host.find('.'); dot != host.npos; dot = host.find('.')) {
    if (!is_label(host.substr(0, dot))) return false;
    host.remove_prefix(dot + 1);
  }
  return http::equals_ignoring_case(host, "localhost");
}

}  // namespace

bool is_own_host(std::string_view host, const std::vector<std::string>& own) {
  if (host.substr(0, 1) == "[") {
    const size_t end = host.find(']');
    if (end == host.npos) return false;
    const std::string_view port = host.substr(end + 1);
    return (port.empty() || (port.front() == ':' && is_port(port.substr(1)))) &&
           is_address(AF_INET6, host.substr(1, end - 1));
  }
  if (const size_t colon = host.find(':'); colon != host.npos) {
    if (!is_port(host.substr(colon + 1))) return false;
    host = host.substr(0, colon);
  }
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  if (is_address(AF_INET, host) || ends_in_localhost(host)) return true;
  for (const std::string& name : own)
    if (!host.empty() && http::equals_ignoring_case(host, name)) return true;
  return false;
}

}  // namespace pawl::api
