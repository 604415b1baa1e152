#include "kernel/scripts/text.h"

#include <utility>

#include "base/check.h"
#include "kernel/keys.h"
#include "kernel/scripts/run_parts.h"

namespace pawl {
namespace {

// A reference: a byte that begins no JSON, and the row's number.
constexpr char kElsewhere = '\x01';
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

// Assigning an empty string would keep the memory of the old one.
void Text::drop() {
  std::string().swap(here_);
  shared_.reset();
}

void Text::clear() {
  drop();
  *this = Text();
}

void TextsInMemory::note(const RunId& run, size_t bytes) {
  if (runs_.empty() || runs_.back() != run) runs_.push_back(run);
  bytes_ += bytes;
}

std::vector<RunId> TextsInMemory::take() {
  bytes_ = 0;
  return std::exchange(runs_, {});
}

std::string TextRows::read(uint64_t part) const {
  auto row = cold_.get(Space::Part, part_row_key(run_, part));
  if (!row) unreadable_row("text of run", run_.text());
  in_memory_.note(run_, row->size());
  return std::move(*row);
}

const std::string& Text::str() const {
  if (shared_) return *shared_;
  if (bytes_on_disk_ == 0) return here_;
  PAWL_CHECK(rows_ != nullptr);
  here_ = rows_->read(part_);
  bytes_on_disk_ = 0;
  rows_.reset();
  return here_;
}

std::shared_ptr<const std::string> Text::share() const {
  str();
  if (!shared_) shared_ = std::make_shared<const std::string>(std::move(here_));
  return shared_;
}

void Text::connect(std::shared_ptr<const TextRows> rows) {
  rows_ = std::move(rows);
  if (bytes_on_disk_ == kUnknownSize) str();
}

void Text::leave_memory(std::shared_ptr<const TextRows> rows) {
  if (part_ == 0 || bytes_on_disk_ != 0) return;
  bytes_on_disk_ = size();
  if (bytes_on_disk_ == 0) return;
  drop();
  rows_ = std::move(rows);
}

std::string_view Text::stored(Reference& room) const {
  if (!aside_) return str();
  room[0] = kElsewhere;
  put_number(room.data() + 1, part_);
  return {room.data(), room.size()};
}

void Text::set_part(uint32_t serial) {
  PAWL_CHECK(size() <= UINT32_MAX);
  part_ = static_cast<uint64_t>(size()) << 32 | serial;
}

void Text::take_stored(std::string_view bytes) {
  clear();
  if (bytes.size() != sizeof(Reference) || bytes[0] != kElsewhere) {
    here_ = bytes;
    return;
  }
  part_ = number_at(bytes.substr(1));
  const uint64_t size = part_ >> 32;
  bytes_on_disk_ = size == 0 ? kUnknownSize : size;
}

}  // namespace pawl
