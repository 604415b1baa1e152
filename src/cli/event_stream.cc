#include "cli/event_stream.h"

namespace pawl::cli {

void EventStream::reset() {
  rest_.clear();
  event_ = {};
  has_data_ = false;
}

void EventStream::feed(std::string_view bytes) {
  for (size_t end; (end = bytes.find('\n')) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    rest_ += bytes.substr(0, end);
    if (!rest_.empty() && rest_.back() == '\r') rest_.pop_back();
    line(rest_);
    rest_.clear();
  }
  rest_ += bytes;
  if (rest_.size() > kEventBytesMax || event_.data.size() > kEventBytesMax) reset();
}

void EventStream::line(std::string_view text) {
  if (text.empty()) {
    if (has_data_) on_event_(event_);
    event_ = {};
    has_data_ = false;
    return;
  }
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (name == "id") event_.id = value;
  if (name == "event") event_.type = value;
  if (name != "data") return;
  if (has_data_) event_.data += '\n';
  event_.data += value;
  has_data_ = true;
}

}  // namespace pawl::cli
