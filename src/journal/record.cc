#include "journal/record.h"

#include "base/hash.h"
#include "base/make_room.h"
#include "journal/events.h"

namespace pawl {

std::string_view event_name(EventType type) {
  switch (type) {
#define PAWL_EVENT(number, name) \
  case EventType::name:          \
    return #name;
#include "journal/event_types.def"
#undef PAWL_EVENT
  }
  return "";
}

namespace journal {
namespace {

constexpr char kHeaderBytes[] = {'P', 'J', kRecordVersion};
constexpr std::string_view kHeader{kHeaderBytes, sizeof kHeaderBytes};
constexpr size_t kChecksumSize = 4;

Error corrupt(uint64_t number, std::string_view what) {
  return Error{ErrorCode::Corrupt,
               "journal record " + std::to_string(number) + ": " + std::string(what)};
}

void put_checksum(std::string& out) {
  uint32_t crc = crc32c(out);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(crc >> shift));
}

bool checksum_matches(std::string_view record) {
  std::string_view body = record.substr(0, record.size() - kChecksumSize);
  uint32_t stored = 0;
  for (size_t i = 0; i < kChecksumSize; ++i)
    stored |= static_cast<uint32_t>(static_cast<uint8_t>(record[body.size() + i])) << (8 * i);
  return crc32c(body) == stored;
}

bool read_frame(uint64_t number, std::string_view frame, std::vector<EventBytes>& out) {
  codec::Reader reader(frame);
  int64_t time_ms = static_cast<int64_t>(reader.varint());
  uint64_t count = reader.varint();
  if (reader.failed() || count > frame.size()) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t type = reader.varint();
    std::string_view bytes = reader.bytes();
    if (reader.failed() || event_name(static_cast<EventType>(type)).empty()) return false;
    if (out.size() > kEventsPerRecordMax) return false;
    out.push_back(
        {sequence(number, out.size()), time_ms, static_cast<EventType>(type), bytes, i == 0});
  }
  return reader.done();
}

}  // namespace

void RecordWriter::reset(uint64_t number) {
  number_ = number;
  bytes_.assign(kHeader);
  frame_events_ = 0;
  events_ = 0;
}

void RecordWriter::begin_frame(int64_t time_ms) {
  PAWL_CHECK(frame_events_ == 0);
  time_ms_ = time_ms;
  frame_at_ = bytes_.size();
}

template <class Event>
uint64_t RecordWriter::add_event(const Event& event) {
  const uint64_t at = next_sequence();
  codec::put_varint(bytes_, static_cast<uint64_t>(event_type<Event>()));
  const size_t body = bytes_.size();
  codec::encode(bytes_, event);
  codec::put_length_before(bytes_, body);
  ++frame_events_;
  ++events_;
  return at;
}

#define PAWL_EVENT(number, name) \
  uint64_t RecordWriter::add(const name& event) { return add_event(event); }
#include "journal/event_types.def"
#undef PAWL_EVENT

void RecordWriter::end_frame() {
  if (frame_events_ == 0) return;
  std::string inside, head;
  codec::put_varint(inside, static_cast<uint64_t>(time_ms_));
  codec::put_varint(inside, frame_events_);
  codec::put_varint(head, inside.size() + bytes_.size() - frame_at_);
  head += inside;
  make_room(bytes_, head.size());
  bytes_.insert(frame_at_, head);
  frame_events_ = 0;
}

std::string RecordWriter::finish() {
  PAWL_CHECK(frame_events_ == 0);
  put_checksum(bytes_);
  return std::move(bytes_);
}

Result<std::vector<EventBytes>> read_record(uint64_t number, std::string_view record) {
  if (record.size() < kHeader.size() + kChecksumSize) return corrupt(number, "too short");
  if (record.substr(0, 2) != kHeader.substr(0, 2)) return corrupt(number, "not a journal record");
  if (record[2] != kHeader[2])
    return corrupt(number, "version " + std::to_string(static_cast<uint8_t>(record[2])) +
                               " is newer than this program");
  if (!checksum_matches(record)) return corrupt(number, "checksum does not match");
  codec::Reader reader(
      record.substr(kHeader.size(), record.size() - kHeader.size() - kChecksumSize));
  std::vector<EventBytes> events;
  while (!reader.done()) {
    std::string_view frame = reader.bytes();
    if (reader.failed() || !read_frame(number, frame, events))
      return corrupt(number, "malformed frame");
  }
  return events;
}

}  // namespace journal
}  // namespace pawl
