#include "requests.h"

#include <gtest/gtest.h>

namespace pawl::bench {
namespace {

// A wrong length would leave the server waiting for bytes, or reading the next request too early.
std::string announced_and_actual(std::string_view request) {
  constexpr std::string_view kName = "Content-Length: ";
  const size_t at = request.find(kName) + kName.size();
  const size_t body = request.find("\r\n\r\n") + 4;
  return std::string(request.substr(at, request.find('\r', at) - at)) + " " +
         std::to_string(request.size() - body);
}

void expect_length_agrees(std::string_view request) {
  const std::string both = announced_and_actual(request);
  const size_t blank = both.find(' ');
  EXPECT_EQ(both.substr(0, blank), both.substr(blank + 1)) << request;
}

TEST(Requests, AnnounceTheLengthOfTheirBody) {
  expect_length_agrees(push_request());
  expect_length_agrees(push_batch_request(100));
  expect_length_agrees(chain_request(10));
  expect_length_agrees(chains_request(3, 2));
  expect_length_agrees(batch_workflow_request(3));
  expect_length_agrees(fetch_request(1000, 500));
  Template ack = ack_template();
  expect_length_agrees(ack.with(std::string(kJobIdBytes, 'a')));
  std::string buffer;
  const std::string id(kJobIdBytes, 'b');
  expect_length_agrees(bulk_ack({id}, buffer));
  expect_length_agrees(bulk_ack({id, id, id}, buffer));
}

TEST(Template, EachValueReplacesTheOneBefore) {
  Template ack = ack_and_fetch_template(1, 500);
  const std::string first(kJobIdBytes, 'a');
  const std::string second(kJobIdBytes, 'b');
  EXPECT_NE(ack.with(first).find("\"job_id\":\"" + first + "\""), std::string::npos);
  EXPECT_NE(ack.with(second).find("\"job_id\":\"" + second + "\""), std::string::npos);
  EXPECT_EQ(ack.with(second).find(first), std::string::npos);
}

}  // namespace
}  // namespace pawl::bench
