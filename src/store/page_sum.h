// The checksums that detect pages changed by the disk.
//
// A page of the database ends with 8 bytes that SQLite reserves for us: a tag, and the CRC-32C of
// all bytes before them and of the page's number, so that a page at the wrong place is detected
// too. A page of the log has SQLite's own sum in the header of its frame, chained to the frame
// before; SQLite checks it when it recovers the log and never again. On every read we compare the
// page with the CRC of the written page, kept in memory, or, if there is none, with that sum.
//
// A changed byte inside a value that has a checksum of its own may be left to the reader of that
// value (page_rows.h): the rest of the page is as it was written.
//
// Not detected: a page that is an older version of itself, because a write was lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl {

inline constexpr uint32_t kPageSumBytes = 8;
inline constexpr uint32_t kLogHeaderBytes = 32;
inline constexpr uint32_t kFrameHeaderBytes = 24;  // of the log, before each page

// Sizes that a database can have.
constexpr bool is_page_size(uint64_t bytes) {
  return bytes >= 512 && bytes <= 65536 && (bytes & (bytes - 1)) == 0;
}

enum class PageState : uint8_t {
  Whole,
  Damaged,
  Unsealed,  // no sum: another program wrote it, or the disk lost its last sector
};

// Writes the sum into the last bytes of a page, which hold nothing else.
void put_page_sum(char* page, uint32_t bytes, uint64_t number);
PageState check_page(const char* page, uint32_t bytes, uint64_t number);
// Of a damaged page: where the one byte stands whose change explains the sum. Nothing if no single
// byte does. Other damage looks like such a byte with a chance of 1 in 2,000 for a page of 8 KiB.
std::optional<uint32_t> find_changed_byte(const char* page, uint32_t bytes, uint64_t number);
// Whether the page ends with the tag of a sum, right or not.
bool has_page_tag(std::string_view page);

// The running sum of the log.
struct LogSum {
  uint32_t a = 0;
  uint32_t b = 0;
  bool operator==(const LogSum&) const = default;
};
// As stored in 8 bytes.
LogSum read_log_sum(const char* bytes);

enum class LogOrder : uint8_t { LittleEndian, BigEndian };
// From the first 4 bytes of a log; nothing: these are no log's.
std::optional<LogOrder> log_order(const char* magic);

// `bytes`: a multiple of 8 of them.
LogSum add_to_log_sum(LogSum sum, std::string_view bytes, LogOrder order);
// `before`: the sum of the frame before, or of the log's header. `header`: kFrameHeaderBytes.
bool frame_is_whole(LogSum before, const char* header, std::string_view page, LogOrder order);

}  // namespace pawl
