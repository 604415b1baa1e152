#include "store/page_sum.h"

#include <bit>
#include <cstring>

#include "base/hash.h"

namespace pawl {
namespace {

constexpr char kTag[4] = {'\xb5', 'P', 's', '\x01'};
constexpr uint32_t kTagBytes = sizeof(kTag);
constexpr uint32_t kLogMagic = 0x377f0682;  // the last bit: big-endian

uint32_t big_endian(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return std::endian::native == std::endian::big ? word : __builtin_bswap32(word);
}

uint32_t sum_of(const char* page, uint32_t bytes, uint64_t number) {
  return crc32c({page, bytes - kPageSumBytes}, static_cast<uint32_t>(number));
}

template <bool kSwap>
LogSum add(LogSum sum, std::string_view bytes) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint32_t words[2];
    std::memcpy(words, bytes.data() + at, sizeof(words));
    sum.a += (kSwap ? __builtin_bswap32(words[0]) : words[0]) + sum.b;
    sum.b += (kSwap ? __builtin_bswap32(words[1]) : words[1]) + sum.a;
  }
  return sum;
}

}  // namespace

void put_page_sum(char* page, uint32_t bytes, uint64_t number) {
  char* end = page + bytes - kPageSumBytes;
  const uint32_t sum = sum_of(page, bytes, number);
  std::memcpy(end, kTag, kTagBytes);
  for (uint32_t i = 0; i < 4; ++i) end[kTagBytes + i] = static_cast<char>(sum >> (8 * i));
}

PageState check_page(const char* page, uint32_t bytes, uint64_t number) {
  const char* end = page + bytes - kPageSumBytes;
  constexpr char kNothing[kPageSumBytes] = {};
  if (std::memcmp(end, kNothing, kPageSumBytes) == 0) return PageState::Unsealed;
  if (std::memcmp(end, kTag, kTagBytes) != 0) return PageState::Damaged;
  uint32_t stored = 0;
  for (uint32_t i = 0; i < 4; ++i)
    stored |= uint32_t{static_cast<uint8_t>(end[kTagBytes + i])} << (8 * i);
  return stored == sum_of(page, bytes, number) ? PageState::Whole : PageState::Damaged;
}

bool has_page_tag(std::string_view page) {
  return page.size() >= kPageSumBytes &&
         page.substr(page.size() - kPageSumBytes, kTagBytes) == std::string_view(kTag, kTagBytes);
}

LogSum read_log_sum(const char* bytes) { return {big_endian(bytes), big_endian(bytes + 4)}; }

std::optional<LogOrder> log_order(const char* magic) {
  const uint32_t number = big_endian(magic);
  if (number == kLogMagic) return LogOrder::LittleEndian;
  if (number == (kLogMagic | 1)) return LogOrder::BigEndian;
  return std::nullopt;
}

LogSum add_to_log_sum(LogSum sum, std::string_view bytes, LogOrder order) {
  const bool native = (order == LogOrder::BigEndian) == (std::endian::native == std::endian::big);
  return native ? add<false>(sum, bytes) : add<true>(sum, bytes);
}

bool frame_is_whole(LogSum before, const char* header, std::string_view page, LogOrder order) {
  const LogSum sum = add_to_log_sum(add_to_log_sum(before, {header, 8}, order), page, order);
  return sum == read_log_sum(header + 16);
}

}  // namespace pawl
