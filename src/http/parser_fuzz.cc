// Any byte stream: no crash, bounded bodies, and the same requests however the bytes are cut.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/url.h"
#include "http/request_reader.h"

namespace {

using pawl::http::ParserLimits;
using pawl::http::Request;
using pawl::http::RequestReader;

constexpr ParserLimits kLimits{
    .header_bytes_max = 1024, .target_bytes_max = 128, .headers_max = 8, .body_bytes_max = 256};

std::string story(std::string_view bytes, size_t step) {
  pawl::http::RequestIds ids;
  RequestReader reader(kLimits, "peer:1", ids);
  std::string out;
  std::string pending;
  for (size_t at = 0; at < bytes.size(); at += step) {
    pending.append(bytes.substr(at, step));
    while (!pending.empty()) {
      const size_t taken = reader.feed(pending);
      pending.erase(0, taken);
      // The decision about a body must not depend on how the bytes are cut.
      if (reader.state() == RequestReader::State::HeadRead) {
        if (reader.head_request().method == "DROP") {
          reader.drop_body(kLimits.body_bytes_max / 2);
          if (reader.state() == RequestReader::State::Idle) continue;
        } else {
          reader.read_body(kLimits.body_bytes_max);
        }
        if (reader.state() == RequestReader::State::Body ||
            reader.state() == RequestReader::State::Dropping)
          continue;
      }
      if (reader.state() == RequestReader::State::Packed) reader.inflate(kLimits.body_bytes_max);
      if (reader.state() == RequestReader::State::Refused) {
        return out + std::to_string(reader.refusal().status) + reader.refusal().code;
      }
      // Behind a body that was dropped stands the next request.
      if (reader.state() == RequestReader::State::Idle && taken > 0) continue;
      if (reader.state() != RequestReader::State::Done) break;
      const Request request = reader.take_request();
      PAWL_CHECK(request.body.size() <= kLimits.body_bytes_max);
      PAWL_CHECK(request.headers.size() <= kLimits.headers_max);
      (void)pawl::percent_decode(request.path);
      (void)pawl::query_params(request.query);
      out.append(request.method).append(" ").append(request.target).append(" ");
      for (const auto& header : request.headers) {
        out.append(header.name).append(":").append(header.value).append("\n");
      }
      out.append(request.body).append("\n");
    }
  }
  return out + std::to_string(static_cast<int>(reader.state()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] % 16 + size_t{1};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  PAWL_CHECK(story(bytes, step) == story(bytes, bytes.size() + 1));
  return 0;
}
