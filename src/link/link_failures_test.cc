// When no answer can come, the caller learns whether the request may have happened.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "link/links.h"
#include "link/testing/link_fixture.h"

namespace pawl::link {
namespace {

// A server that does what no node does: the test reads and writes bytes itself.
class RawPeer {
 public:
  RawPeer() {
    listen_fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listen_fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ::listen(listen_fd_, 16);
    ::getsockname(listen_fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;
  ~RawPeer() {
    hang_up();
    stop_listening();
  }

  Peer peer() const { return {"raw", "raw-1", "http://127.0.0.1:" + std::to_string(port_)}; }
  void stop_listening() {
    if (listen_fd_ >= 0) ::close(std::exchange(listen_fd_, -1));
  }

  // Takes a connection and reads from it until a whole request has come; returns its bytes.
  std::string take_request() {
    hang_up();
    fd_ = ::accept(listen_fd_, nullptr, nullptr);
    return read_request();
  }
  std::string read_request() {
    std::string bytes;
    char buffer[4096];
    while (!whole(bytes)) {
      const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      bytes.append(buffer, static_cast<size_t>(count));
    }
    return bytes;
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  static bool whole(const std::string& bytes) {
    const size_t end = bytes.find("\r\n\r\n");
    const size_t at = bytes.find("Content-Length: ");
    if (end == std::string::npos || at == std::string::npos) return false;
    return bytes.size() >= end + 4 + std::stoul(bytes.substr(at + 16));
  }

  int listen_fd_ = -1;
  int fd_ = -1;
  int port_ = 0;
};

// What a node with the key answers to these bytes of a request.
std::string answer_to(const std::string& request, const std::string& frames) {
  const size_t at = request.find(std::string(kLinkHeader) + ": 1 ");
  const std::string mac = request.substr(at + kLinkHeader.size() + 4, 64);
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(frames.size()) + "\r\n" +
         std::string(kLinkHeader) + ": " + sealed_header(1, Seal(kTestKey).proof_of(1, mac)) +
         "\r\n\r\n" + frames;
}

std::string answer_frame(const std::string& body) {
  http::Response response{.body = body};
  return frame_head(FrameKind::Answer, 0, response) + body;
}

TEST(LinkFailures, AnotherPartitionIsNotMine) {
  ServingNode node(http::echo);
  const auto from = links();
  Passed request = passed("POST", "/");
  request.partition = 2;
  EXPECT_EQ(call(*from, node.peer(), std::move(request))->wait(), "failed NotMine|");
  EXPECT_EQ(node.door().stats().not_mine, 1U);
  EXPECT_EQ(from->stats().not_mine, 1U);
}

TEST(LinkFailures, NobodyListensThere) {
  RawPeer peer;
  peer.stop_listening();
  const auto from = links();
  EXPECT_EQ(call(*from, peer.peer(), passed("POST", "/"))->wait(), "failed NotSent|");
  EXPECT_EQ(from->stats().not_sent, 1U);
  EXPECT_EQ(from->stats().passed_on, 0U);
}

TEST(LinkFailures, AnUnknownHostAndAUrlThatIsNone) {
  const auto from = links();
  EXPECT_EQ(call(*from, {"b", "1", "http://no-such-host.invalid:1"}, passed("POST", "/"))->wait(),
            "failed NotSent|");
  EXPECT_EQ(call(*from, {"c", "1", "ftp://127.0.0.1:1"}, passed("POST", "/"))->wait(),
            "failed NotSent|");
  ASSERT_EQ(from->warnings().size(), 2U);
  EXPECT_NE(from->warnings()[0].find("ftp://"), std::string::npos);
}

TEST(LinkFailures, APeerKilledInMidCallLeavesTheOutcomeUnknown) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), passed("POST", "/p"));
  const http::Responder kept = parked.take("/p");
  node.stop();
  EXPECT_EQ(outcome->wait(), "failed Unknown|");
}

// Of a batch, what was answered before the peer died stays answered.
TEST(LinkFailures, OnlyTheUnansweredAreUnknown) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcomes = call_many(*from, node.peer(), {"/1", "/2"});
  parked.take("/2").respond({.body = "done"});
  EXPECT_EQ(outcomes[1]->wait(), "answer 200 done|");
  const http::Responder kept = parked.take("/1");
  node.stop();
  EXPECT_EQ(outcomes[0]->wait(), "failed Unknown|");
}

TEST(LinkFailures, APeerThatSaysNothing) {
  RawPeer peer;
  const auto from = links({.answer_ms_max = 50});
  const auto outcome = call(*from, peer.peer(), passed("POST", "/"));
  peer.take_request();
  EXPECT_EQ(outcome->wait(), "failed Unknown|");
}

TEST(LinkFailures, APeerWhoseHeadIsCutOff) {
  RawPeer peer;
  const auto from = links();
  const auto outcome = call(*from, peer.peer(), passed("POST", "/"));
  const std::string request = peer.take_request();
  peer.send(answer_to(request, answer_frame("x")).substr(0, 30));
  peer.hang_up();
  EXPECT_EQ(outcome->wait(), "failed Unknown|");
}

// The peer closes an unused connection at the moment in which it is used: the same batch goes over
// another one, and the peer would refuse it if it had it.
TEST(LinkFailures, AnOldConnectionThatBreaksIsReplaced) {
  RawPeer peer;
  const auto from = links();
  const auto first = call(*from, peer.peer(), passed("POST", "/1"));
  std::string request = peer.take_request();
  peer.send(answer_to(request, answer_frame("one")));
  EXPECT_EQ(first->wait(), "answer 200 one|");
  const auto second = call(*from, peer.peer(), passed("POST", "/2"));
  const std::string lost = peer.read_request();
  request = peer.take_request();
  EXPECT_EQ(request, lost);
  peer.send(answer_to(request, answer_frame("two")));
  EXPECT_EQ(second->wait(), "answer 200 two|");
  const auto third = call(*from, peer.peer(), passed("POST", "/3"));
  peer.read_request();
  peer.stop_listening();
  peer.hang_up();
  EXPECT_EQ(third->wait(), "failed Unknown|");
}

TEST(LinkFailures, ARefusalByTheServerItselfIsNotSent) {
  RawPeer peer;
  const auto from = links();
  const auto outcome = call(*from, peer.peer(), passed("POST", "/"));
  peer.take_request();
  peer.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy");
  EXPECT_EQ(outcome->wait(), "failed NotSent|");
}

TEST(LinkFailures, WhatWaitedTooLongForALineWasNotSent) {
  RawPeer peer;
  const auto from = links({.lines_max = 1, .answer_ms_max = 50});
  const std::string large(kBatchBytesMax * 2 / 3, 'l');  // so that each has a batch of its own
  std::vector<std::shared_ptr<Outcome>> outcomes;
  std::vector<LinkCall> calls;
  for (int i = 0; i < 2; ++i) {
    outcomes.push_back(std::make_shared<Outcome>());
    calls.push_back(
        {peer.peer(), passed("POST", "/", large), outcomes.back(), outcomes.back()->failed()});
  }
  from->call_many(std::move(calls));
  EXPECT_EQ(outcomes[1]->wait(), "failed NotSent|");
  outcomes[0]->wait();
}

// Without the key, the head is refused, and the body is not waited for.
TEST(LinkFailures, AHeadWithoutTheKeyIsRefused) {
  ServingNode node(http::echo);
  const auto from = links();
  call(*from, node.peer(), passed("POST", "/"))->wait();
  std::string stolen = node.last_batch();
  const std::string length = "Content-Length: ";
  stolen.insert(stolen.find(length) + length.size(), "9999");
  http::LoopbackClient client(node.server().port());
  client.send(stolen.substr(0, stolen.find("\r\n\r\n") + 4));
  EXPECT_EQ(http::status_of(client.read_response()), "401");
  EXPECT_EQ(node.door().warnings().size(), 1U);
}

TEST(LinkFailures, AnotherKeyIsRefusedAndTold) {
  ServingNode node(http::echo);
  const auto from = links({.key = "another key of thirty-two bytes."});
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/"))->wait(), "failed Refused|");
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/"))->wait(), "failed Refused|");
  const std::vector<std::string> told = {
      "a batch from 127.0.0.1 was refused: it was not made with this cluster's key (2 times)"};
  EXPECT_EQ(node.door().warnings(), told);
  EXPECT_EQ(node.door().stats().calls, 0U);
  ASSERT_EQ(from->warnings().size(), 1U);
  EXPECT_NE(from->warnings()[0].find("node \"b\" refused a batch with status 401"),
            std::string::npos)
      << from->warnings()[0];
}

TEST(LinkFailures, AnAnswerWithoutTheKeyIsNotBelieved) {
  RawPeer peer;
  const auto from = links();
  const auto outcome = call(*from, peer.peer(), passed("POST", "/"));
  std::string answer = answer_to(peer.take_request(), answer_frame("forged"));
  const size_t proof = answer.find(": 1 ") + 4;
  answer[proof] = answer[proof] == '0' ? '1' : '0';
  peer.send(answer);
  EXPECT_EQ(outcome->wait(), "failed Unknown|");
  EXPECT_EQ(from->warnings().size(), 1U);
}

TEST(LinkFailures, ARestartedPeerDecidesNothing) {
  ServingNode node(http::echo);
  const auto from = links();
  Peer former = node.peer();
  former.incarnation = "serving-0";
  EXPECT_EQ(call(*from, former, passed("POST", "/"))->wait(), "failed NotMine|");
  EXPECT_EQ(node.door().stats().calls, 0U);
}

// A node that enters its cluster anew is another process for the others, in both directions.
TEST(LinkFailures, ANodeThatEntersAnewGoesOnUnderItsNewIncarnation) {
  OwnIncarnation serving("serving-1");
  ServingNode node(http::echo, {.incarnation = serving});
  OwnIncarnation passing("passing-1");
  const auto from = links({.incarnation = passing});
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/", "a"))->wait(), "answer 200 POST / [a]|");
  serving.change("serving-2");
  passing.change("passing-2");
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/", "b"))->wait(), "failed NotMine|");
  Peer now = node.peer();
  now.incarnation = "serving-2";
  EXPECT_EQ(call(*from, now, passed("POST", "/", "c"))->wait(), "answer 200 POST / [c]|");
  EXPECT_NE(node.last_batch().find("passing-2"), std::string::npos);
}

TEST(LinkFailures, AVersionThatThePeerDoesNotSpeakIsRefused) {
  ServingNode node(http::echo, {.versions = {1, 2}});
  const auto from = links({.versions = {3, 4}});
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/"))->wait(), "failed Refused|");
  ASSERT_EQ(from->warnings().size(), 1U);
  EXPECT_NE(from->warnings()[0].find("this node speaks the link versions 1 to 2, not 3"),
            std::string::npos)
      << from->warnings()[0];
}

TEST(LinkFailures, AReplayedBatchIsRefused) {
  ServingNode node(http::echo);
  const auto from = links();
  call(*from, node.peer(), passed("POST", "/"))->wait();
  http::LoopbackClient thief(node.server().port());
  thief.send(node.last_batch());
  EXPECT_EQ(http::status_of(thief.read_response()), "409");
  EXPECT_EQ(node.door().stats().calls, 1U);
  ASSERT_EQ(node.door().warnings().size(), 1U);
  EXPECT_NE(node.door().warnings()[0].find("it came before"), std::string::npos);
}

// The head of a good batch with another body of the same length.
TEST(LinkFailures, AChangedBodyIsRefused) {
  ServingNode node(http::echo);
  const auto from = links();
  Peer elsewhere = node.peer();
  elsewhere.incarnation = "serving-0";  // so that the counter is not the reason
  call(*from, elsewhere, passed("POST", "/"))->wait();
  std::string changed = node.last_batch();
  changed.back() ^= 1;
  http::LoopbackClient thief(node.server().port());
  thief.send(changed);
  EXPECT_EQ(http::status_of(thief.read_response()), "401");
  EXPECT_EQ(node.door().warnings().size(), 1U);
}

TEST(LinkFailures, AnApiKeyOpensNothing) {
  ServingNode node(http::echo);
  http::LoopbackClient client(node.server().port());
  client.send(
      "POST /v1/internal/link HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer admin\r\n"
      "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(http::status_of(client.read_response()), "401");
}

// It listens, but does not complete the handshake of TLS.
TEST(LinkFailures, APeerThatDoesNotConnectInTime) {
  RawPeer silent;
  Peer peer = silent.peer();
  peer.url.insert(4, "s");
  const auto from = links({.connect_ms_max = 20});
  EXPECT_EQ(call(*from, peer, passed("POST", "/"))->wait(), "failed NotSent|");
}

TEST(LinkFailures, ADroppedPeerFailsAtOnce) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), passed("POST", "/p"));
  const http::Responder kept = parked.take("/p");
  from->drop("serving-1");
  EXPECT_EQ(outcome->wait(), "failed Unknown|");
}

TEST(LinkFailures, StoppingFailsWhatIsUnderWayAndLaterCalls) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), passed("POST", "/p"));
  const http::Responder kept = parked.take("/p");
  from->stop();
  EXPECT_EQ(outcome->told(), "failed Unknown|");
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/"))->told(), "failed NotSent|");
}

TEST(LinkFailures, MoreThanMayWaitIsNotSent) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links({.waiting_lines_max = 2});
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (const char* path : {"/1", "/2", "/3"})
    outcomes.push_back(call(*from, node.peer(), waiting(passed("GET", path))));
  EXPECT_EQ(outcomes[2]->wait(), "failed NotSent|");
  parked.take("/1").respond({.body = "1"});
  EXPECT_EQ(outcomes[0]->wait(), "answer 200 1|");
  parked.take("/2").respond({.body = "2"});
  EXPECT_EQ(outcomes[1]->wait(), "answer 200 2|");
}

}  // namespace
}  // namespace pawl::link
