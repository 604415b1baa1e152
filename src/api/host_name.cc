#include "api/host_name.h"

#include <arpa/inet.h>

#include "http/parser.h"

namespace pawl::api {
namespace {

bool is_port(std::string_view text) {
  return text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
}

bool is_address(int family, std::string_view text) {
  in6_addr address{};  // room for either
  return ::inet_pton(family, std::string(text).c_str(), &address) == 1;
}

bool ends_in_localhost(std::string_view host) {
  constexpr std::string_view kLocal = "localhost";
  if (host.size() < kLocal.size()) return false;
  const size_t before = host.size() - kLocal.size();
  return http::equals_ignoring_case(host.substr(before), kLocal) &&
         (before == 0 || (before > 1 && host[before - 1] == '.'));
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
