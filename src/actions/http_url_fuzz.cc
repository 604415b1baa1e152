// Any text as an address, and as a redirect from one: refused, or an http(s) address that reads
// back with the same host and port. Otherwise one host would be checked and another contacted.
#include <cstddef>
#include <cstdint>
#include <string>

#include "actions/action.h"
#include "actions/host_policy.h"
#include "actions/http_url.h"
#include "base/check.h"

namespace {

using pawl::actions::HttpUrl;

void check(const HttpUrl& url) {
  PAWL_CHECK(url.scheme() == "http" || url.scheme() == "https");
  PAWL_CHECK(!url.host().empty());
  PAWL_CHECK(url.port() >= 0 && url.port() <= 65535);
  const std::string text = url.text();
  const auto again = HttpUrl::parse(text);
  if (!again.ok()) return;  // longer than an address may be, once it is encoded
  PAWL_CHECK(again->host() == url.host() && again->port() == url.port());
  PAWL_CHECK(again->same_origin(url));
  const pawl::actions::HttpPolicy policy{.allow_hosts = {"*.example.com", "10.0.0.5:8080"},
                                         .deny_hosts = {url.host()}};
  PAWL_CHECK(pawl::actions::judge_host(policy, url.host(), url.port()) ==
             pawl::actions::HostVerdict::Denied);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto url = HttpUrl::parse(text); url.ok()) check(*url);
  static const auto from = HttpUrl::parse("https://user.example.com:8443/a/b?c=d");
  if (const auto to = from->follow(text); to.ok()) check(*to);
  return 0;
}
