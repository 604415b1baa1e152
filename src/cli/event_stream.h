// Splits a byte stream into server-sent events. Bounded: an event past the bound is dropped.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace pawl::cli {

struct ServerEvent {
  std::string id;
  std::string type;
  std::string data;
};

class EventStream {
 public:
  explicit EventStream(std::function<void(const ServerEvent&)> on_event)
      : on_event_(std::move(on_event)) {}

  void feed(std::string_view bytes);
  void reset();  // a new connection: drops a partial event

 private:
  static constexpr size_t kEventBytesMax = 32u << 20;

  void line(std::string_view text);

  std::function<void(const ServerEvent&)> on_event_;
  std::string rest_;
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace pawl::cli
