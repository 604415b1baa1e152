// Links to https:// nodes: over TLS, and only to a certificate that fits.
#include <gtest/gtest.h>

#include "http/testing/certificate.h"
#include "link/links.h"
#include "link/testing/link_fixture.h"

namespace pawl::link {
namespace {

TEST(LinkTls, CallsAndStreamsPass) {
  const http::Certificate certificate("IP:127.0.0.1");
  http::Parked parked;
  ServingNode node(http::parking(parked), {}, certificate.config());
  ASSERT_EQ(node.peer().url.substr(0, 8), "https://");
  const auto from = links({.tls_ca_file = certificate.certificate_file});
  const std::string large(3'000'000, 't');
  const auto first = call(*from, node.peer(), passed("POST", "/first", large));
  parked.take("/first").respond({.body = large});
  first->wait();
  EXPECT_EQ(first->response().body, large);
  const auto second = call(*from, node.peer(), waiting(passed("GET", "/second")));
  http::Stream stream = parked.take("/second").stream({.body = "a"});
  second->wait_for("a|");
  stream.write("b");
  stream.close();
  EXPECT_EQ(second->wait(), "stream 200 |a|b|end|");
  EXPECT_EQ(node.server().stats().connections_accepted, 1U);
}

TEST(LinkTls, AHostWithAnothersCertificateGetsNothing) {
  const http::Certificate certificate("DNS:elsewhere.example");
  ServingNode node(http::echo, {}, certificate.config());
  const auto from = links({.tls_ca_file = certificate.certificate_file});
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/"))->wait(), "failed NotSent|");
  ASSERT_EQ(from->warnings().size(), 1U);
  EXPECT_NE(from->warnings()[0].find("no TLS certificate that this node trusts"),
            std::string::npos);
  EXPECT_EQ(node.door().stats().batches, 0U);
}

TEST(LinkTls, AnUnknownAuthorityGetsNothing) {
  const http::Certificate certificate("IP:127.0.0.1");
  const http::Certificate other("IP:127.0.0.1");
  ServingNode node(http::echo, {}, certificate.config());
  const auto from = links({.tls_ca_file = other.certificate_file});
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/"))->wait(), "failed NotSent|");
}

TEST(LinkTls, APlainUrlOfATlsNodeGetsNothing) {
  const http::Certificate certificate("IP:127.0.0.1");
  ServingNode node(http::echo, {}, certificate.config());
  const auto from = links();
  Peer peer = node.peer();
  peer.url = "http" + peer.url.substr(5);
  EXPECT_EQ(call(*from, peer, passed("POST", "/"))->wait(), "failed NotSent|");
}

TEST(LinkTls, AnUnreadableFileOfAuthoritiesIsAnErrorAtTheStart) {
  const auto started = Links::start(links_config({.tls_ca_file = "/no/such/file"}));
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("/no/such/file"), std::string::npos);
}

}  // namespace
}  // namespace pawl::link
