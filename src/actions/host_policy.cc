#include "actions/host_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

namespace pawl::actions {
namespace {

std::string plain(std::string_view host) {
  std::string out(host);
  if (out.size() >= 2 && out.front() == '[' && out.back() == ']')
    out = out.substr(1, out.size() - 2);
  while (!out.empty() && out.back() == '.') out.pop_back();
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

struct Rule {
  std::string host;
  std::string port;  // "" = any
};

Rule parse_rule(std::string_view text) {
  size_t colon = text.rfind(':');
  bool bare_v6 = text.substr(0, 1) != "[" && text.find(':') != colon;
  bool inside_brackets =
      colon != std::string_view::npos && text.find(']', colon) != std::string_view::npos;
  if (colon == std::string_view::npos || bare_v6 || inside_brackets) return {plain(text), ""};
  return {plain(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

bool matches_any(const std::vector<std::string>& rules, std::string_view host, int port) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const std::string& rule) { return host_matches(rule, host, port); });
}

// Linux connects to loopback for these addresses.
bool is_unspecified(std::string_view host_text) {
  const std::string host = plain(host_text);
  in_addr v4;
  if (inet_aton(host.c_str(), &v4) == 1) return v4.s_addr == htonl(INADDR_ANY);
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

bool is_denied(const std::vector<std::string>& rules, std::string_view host, int port) {
  if (matches_any(rules, host, port)) return true;
  return is_unspecified(host) &&
         (matches_any(rules, "127.0.0.1", port) || matches_any(rules, "::1", port));
}

}  // namespace

bool host_matches(std::string_view rule_text, std::string_view host_text, int port) {
  Rule rule = parse_rule(rule_text);
  std::string host = plain(host_text);
  if (!rule.port.empty() && rule.port != "*" && rule.port != std::to_string(port)) return false;
  if (rule.host == "*") return true;
  if (rule.host.compare(0, 2, "*.") == 0) {
    std::string_view suffix = std::string_view(rule.host).substr(1);
    return host.size() > suffix.size() &&
           std::string_view(host).substr(host.size() - suffix.size()) == suffix;
  }
  return !rule.host.empty() && rule.host == host;
}

HostVerdict judge_host(const HttpPolicy& policy, std::string_view host, int port) {
  if (is_denied(policy.deny_hosts, host, port)) return HostVerdict::Denied;
  if (policy.allow_private || matches_any(policy.allow_hosts, host, port)) return HostVerdict::Any;
  return HostVerdict::PublicOnly;
}

}  // namespace pawl::actions
