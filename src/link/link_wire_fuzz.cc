// Any bytes from another node: as a batch, as frames, as a response. No crash and bounded memory;
// what is read as a batch is the same when it is written and read again; the same frames and the
// same response however the bytes are cut.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "link/response_reader.h"
#include "link/wire.h"

namespace {

using namespace pawl::link;

void try_batch(std::string_view bytes) {
  const auto batch = read_batch(bytes);
  if (!batch) return;
  PAWL_CHECK(!batch->calls.empty() && batch->calls.size() <= kBatchCallsMax);
  std::string written;
  append_batch_head(written, batch->head);
  for (const BatchedCall& call : batch->calls) {
    append_call(written, {.partition = call.head.partition,
                          .epoch = call.head.epoch,
                          .hops = call.head.hops,
                          .request = parts_of(call)});
    (void)pawl::http::make_request(parts_of(call));
  }
  const auto again = read_batch(written);
  PAWL_CHECK(again && again->calls.size() == batch->calls.size());
  for (size_t i = 0; i < batch->calls.size(); ++i) {
    PAWL_CHECK(again->calls[i].body == batch->calls[i].body);
    PAWL_CHECK(again->calls[i].head.target == batch->calls[i].head.target);
    PAWL_CHECK(again->calls[i].head.headers.size() == batch->calls[i].head.headers.size());
  }
}

std::string frames_story(std::string_view bytes, size_t step) {
  FrameReader reader;
  std::string told;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const bool good = reader.feed(bytes.substr(at, step), [&](Frame&& frame) {
      told += std::to_string(static_cast<int>(frame.kind)) + " " + std::to_string(frame.number) +
              " " + std::to_string(frame.response.status) + " " + frame.response.body + "\n";
      for (const auto& [name, value] : frame.response.headers) told += name + ":" + value + "\n";
    });
    if (!good) return told + "bad";
  }
  return told + (reader.between_frames() ? "between" : "within");
}

std::string response_story(std::string_view bytes, size_t step) {
  ResponseReader reader;
  std::string body;
  std::string pending;
  for (size_t at = 0; at < bytes.size(); at += step) {
    pending.append(bytes.substr(at, step));
    while (!pending.empty() && reader.state() != ResponseReader::State::Bad) {
      const size_t taken = reader.feed(pending, body);
      if (taken == 0) break;
      pending.erase(0, taken);
      if (reader.state() == ResponseReader::State::Done) reader.begin_next();
    }
    if (reader.state() == ResponseReader::State::Bad) return body + "bad";
  }
  return std::to_string(reader.status()) + reader.link_header() + body +
         std::to_string(static_cast<int>(reader.state()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] % 16 + size_t{1};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try_batch(bytes);
  PAWL_CHECK(frames_story(bytes, step) == frames_story(bytes, bytes.size() + 1));
  PAWL_CHECK(response_story(bytes, step) == response_story(bytes, bytes.size() + 1));
  return 0;
}
