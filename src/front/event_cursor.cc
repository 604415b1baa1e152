#include "front/event_cursor.h"

#include <algorithm>
#include <optional>

#include "base/base64.h"
#include "base/codec.h"
#include "base/quote.h"

namespace pawl::front {
namespace {

constexpr std::string_view kCursorMark = "v1.";
constexpr uint64_t kPartBits = 2;
constexpr uint64_t kSequenceMax = ~uint64_t{0} >> kPartBits;
constexpr size_t kShownMax = 128;

std::string url_safe(std::string text) {
  while (!text.empty() && text.back() == '=') text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

bool from_url_safe(std::string text, std::string& bytes) {
  for (char& c : text) {
    if (c == '+' || c == '/' || c == '=') return false;
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  while (text.size() % 4 != 0) text.push_back('=');
  return from_base64(text, bytes);
}

Error invalid(std::string message) { return {ErrorCode::InvalidRequest, std::move(message)}; }

}  // namespace

std::string EventCursor::text() const {
  std::string bytes;
  codec::put_varint(bytes, positions.size());
  for (const EventPosition& one : positions)
    codec::put_varint(bytes, std::min(one.sequence, kSequenceMax) << kPartBits | one.part);
  return std::string(kCursorMark) + url_safe(base64(bytes));
}

Result<EventCursor> EventCursor::parse(std::string_view text, uint16_t partitions) {
  EventCursor cursor;
  if (text == "0") {
    cursor.positions.resize(partitions);
    return cursor;
  }
  const std::string shown = in_quotes(text.substr(0, kShownMax));
  if (!is_one(text)) {
    if (EventPosition::parse(text))
      return invalid("the cursor " + shown +
                     " names no partition; it was made by another server, or for the events of "
                     "one job or run");
    return invalid("after must be a cursor, not " + shown);
  }
  std::string bytes;
  if (!from_url_safe(std::string(text.substr(kCursorMark.size())), bytes))
    return invalid("after must be a cursor, not " + shown);
  codec::Reader reader(bytes);
  const uint64_t count = reader.varint();
  if (!reader.failed() && count != partitions)
    return invalid("the cursor " + shown + " was made by another server: it is for " +
                   std::to_string(count) + " partitions, and this one has " +
                   std::to_string(partitions));
  for (uint64_t k = 0; k < count && !reader.failed(); ++k) {
    const uint64_t number = reader.varint();
    cursor.positions.push_back({number >> kPartBits, static_cast<uint32_t>(number & 3)});
  }
  if (reader.failed() || !reader.done()) return invalid("after must be a cursor, not " + shown);
  return cursor;
}

}  // namespace pawl::front
