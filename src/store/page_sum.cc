#include "store/page_sum.h"

#include <array>
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

uint32_t stored_sum(const char* page, uint32_t bytes) {
  const char* end = page + bytes - kPageSumBytes;
  uint32_t stored = 0;
  for (uint32_t i = 0; i < 4; ++i)
    stored |= uint32_t{static_cast<uint8_t>(end[kTagBytes + i])} << (8 * i);
  return stored;
}

// One byte of CRC-32C backwards: the top byte of a state tells which entry of the table went in.
class CrcBackwards {
 public:
  CrcBackwards() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t sum = byte;
      for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78 : 0);
      table_[byte] = sum;
      byte_of_[sum >> 24] = byte;
    }
  }
  uint32_t before(uint32_t sum) const {
    const uint32_t byte = byte_of_[sum >> 24];
    return (sum ^ table_[byte]) << 8 | byte;
  }

 private:
  std::array<uint32_t, 256> table_{}, byte_of_{};
};

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
  return stored_sum(page, bytes) == sum_of(page, bytes, number) ? PageState::Whole
                                                                : PageState::Damaged;
}

// The difference of two sums is that of the bytes alone. Rolled back to where the changed byte went
// in, it is that byte's difference.
std::optional<uint32_t> find_changed_byte(const char* page, uint32_t bytes, uint64_t number) {
  static const CrcBackwards crc;
  if (!has_page_tag({page, bytes})) return std::nullopt;
  uint32_t difference = stored_sum(page, bytes) ^ sum_of(page, bytes, number);
  std::optional<uint32_t> found;
  for (uint32_t at = bytes - kPageSumBytes; difference != 0 && at-- > 0;) {
    difference = crc.before(difference);
    if (difference > 0xff) continue;
    if (found) return std::nullopt;
    found = at;
  }
  return found;
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
