#include "kernel/text.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernel/keys.h"
#include "kernel/run_parts.h"

namespace pawl {
namespace {

// A reference: a byte that begins no JSON, the row's number, the size of the text.
constexpr char kElsewhere = '\x01';
constexpr size_t kOldReferenceBytes = 9;  // had no size
constexpr uint64_t kUnknownSize = UINT64_MAX;

void put_number(char* out, uint64_t number) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(number >> (56 - 8 * i));
}

uint64_t number_at(std::string_view bytes) {
  uint64_t number = 0;
  for (char byte : bytes.substr(0, 8)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

std::string TextRows::read(uint64_t part) const {
  auto row = cold_.get(Space::Part, part_row_key(run_, part));
  if (!row) unreadable_row("text of run", run_.text());
  return std::move(*row);
}

const std::string& Text::str() const {
  if (bytes_on_disk_ == 0) return here_;
  PAWL_CHECK(rows_ != nullptr);
  here_ = rows_->read(part_);
  bytes_on_disk_ = 0;
  rows_.reset();
  return here_;
}

void Text::connect(std::shared_ptr<const TextRows> rows) {
  rows_ = std::move(rows);
  if (bytes_on_disk_ == kUnknownSize) str();
}

std::string_view Text::stored(Reference& room) const {
  if (!aside_) return str();
  room[0] = kElsewhere;
  put_number(room.data() + 1, part_);
  put_number(room.data() + 9, size());
  return {room.data(), room.size()};
}

void Text::take_stored(std::string_view bytes) {
  clear();
  bool reference = !bytes.empty() && bytes[0] == kElsewhere &&
                   (bytes.size() == sizeof(Reference) || bytes.size() == kOldReferenceBytes);
  if (!reference) {
    here_ = bytes;
    return;
  }
  part_ = number_at(bytes.substr(1));
  bytes_on_disk_ = bytes.size() == kOldReferenceBytes ? kUnknownSize : number_at(bytes.substr(9));
}

}  // namespace pawl
