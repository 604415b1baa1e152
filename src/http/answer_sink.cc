#include "http/answer_sink.h"

#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace pawl::http {
namespace {

class ResponderSink : public AnswerSink {
 public:
  explicit ResponderSink(Responder responder) : responder_(std::move(responder)) {}

  void answer(Response&& response) override { take().respond(std::move(response)); }
  void begin_stream(Response&& head) override {
    Stream begun = take().stream(std::move(head));
    const std::lock_guard lock(mutex_);
    stream_ = std::move(begun);
    streaming_ = true;
  }
  bool write(std::string_view chunk) override { return stream_.write(chunk); }
  void end_stream() override {
    const std::lock_guard lock(mutex_);
    stream_.close();
  }
  size_t unsent() const override {
    const std::lock_guard lock(mutex_);
    return stream_.unsent();
  }
  bool disconnected() const override {
    const std::lock_guard lock(mutex_);
    return streaming_ ? !stream_.open() : responder_.disconnected();
  }
  void on_disconnect(std::function<void()> callback) override {
    const std::lock_guard lock(mutex_);
    if (streaming_) return stream_.on_close(std::move(callback));
    responder_.on_disconnect(std::move(callback));
  }

 private:
  Responder take() {
    const std::lock_guard lock(mutex_);
    return std::move(responder_);
  }

  // disconnected() and unsent() come from other threads. What is guarded by it is changed only by
  // the one caller of the other functions, which may therefore read it without.
  mutable std::mutex mutex_;
  Responder responder_;  // until it has answered
  Stream stream_;        // then, if that is one
  bool streaming_ = false;
};

}  // namespace

// One block holds the table of headers and behind it all texts, as for a request from a socket.
Request make_request(RequestParts parts) {
  const size_t table_bytes = parts.headers.size() * sizeof(Header);
  size_t bytes = parts.method.size() + parts.target.size() + parts.peer.size() + parts.id.size();
  for (const auto& [name, value] : parts.headers) bytes += name.size() + value.size();
  Request made;
  made.head_bytes = std::make_unique_for_overwrite<std::byte[]>(table_bytes + bytes + 1);
  char* end = reinterpret_cast<char*>(made.head_bytes.get() + table_bytes);
  const auto keep = [&](std::string_view text) {
    if (!text.empty()) std::memcpy(end, text.data(), text.size());
    const std::string_view kept(end, text.size());
    end += text.size();
    return kept;
  };
  auto* table = reinterpret_cast<Header*>(made.head_bytes.get());
  size_t count = 0;
  for (const auto& [name, value] : parts.headers) {
    const std::string_view kept = keep(name);
    new (table + count++) Header{kept, keep(value)};
  }
  made.headers = {table, count};
  made.method = keep(parts.method);
  made.target = keep(parts.target);
  made.path = made.target.substr(0, made.target.find('?'));
  if (made.path.size() < made.target.size()) made.query = made.target.substr(made.path.size() + 1);
  made.peer = keep(parts.peer);
  made.id = keep(parts.id);
  made.body_bytes = std::move(parts.body);
  made.body = made.body_bytes;
  return made;
}

RequestParts parts_of(Request&& request) {
  RequestParts parts{.method = std::string(request.method),
                     .target = std::string(request.target),
                     .headers = {},
                     .body = {},
                     .peer = std::string(request.peer),
                     .id = std::string(request.id)};
  parts.headers.reserve(request.headers.size());
  for (const Header& header : request.headers)
    parts.headers.emplace_back(header.name, header.value);
  parts.body = std::move(request.body_bytes);
  request.body = {};
  return parts;
}

std::shared_ptr<AnswerSink> sink_for(Responder responder) {
  return std::make_shared<ResponderSink>(std::move(responder));
}

}  // namespace pawl::http
