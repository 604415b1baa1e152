#include "http/out_queue.h"

#include <utility>

#include "base/check.h"

namespace pawl::http {
namespace {

constexpr size_t kCopyBytesMax = 8 * 1024;    // a larger body is moved, not copied
constexpr size_t kPieceBytesMax = 64 * 1024;  // a piece this long takes no more
constexpr size_t kKeptBytesMax = 8 * 1024;    // capacity an idle connection may keep

}  // namespace

std::string& OutQueue::tail() {
  if (pieces_.size() == first_ || pieces_.back().size() >= kPieceBytesMax) pieces_.emplace_back();
  tail_before_ = pieces_.back().size();
  return pieces_.back();
}

void OutQueue::grew() { size_ += pieces_.back().size() - tail_before_; }

void OutQueue::append(std::string_view bytes) {
  tail().append(bytes);
  grew();
}

void OutQueue::append(std::string&& bytes) {
  if (bytes.size() <= kCopyBytesMax) {
    append(std::string_view(bytes));
    return;
  }
  size_ += bytes.size();
  pieces_.push_back(std::move(bytes));
}

size_t OutQueue::gather(std::span<iovec> vectors) const {
  size_t count = 0;
  size_t offset = offset_;
  for (size_t i = first_; i < pieces_.size() && count < vectors.size(); ++i) {
    const std::string& piece = pieces_[i];
    if (piece.size() > offset) {
      vectors[count++] = {const_cast<char*>(piece.data()) + offset, piece.size() - offset};
    }
    offset = 0;
  }
  return count;
}

void OutQueue::consume(size_t bytes) {
  PAWL_CHECK(bytes <= size_);
  size_ -= bytes;
  while (bytes > 0) {
    const size_t left = pieces_[first_].size() - offset_;
    if (bytes < left) {
      offset_ += bytes;
      break;
    }
    bytes -= left;
    offset_ = 0;
    if (first_ > 0 || pieces_.size() > 1) std::string{}.swap(pieces_[first_]);
    ++first_;
  }
  drop_sent();
}

void OutQueue::drop_sent() {
  if (size_ == 0) {
    // Keep one small buffer: the next answer then allocates nothing.
    pieces_.resize(1);
    pieces_[0].clear();
    if (pieces_[0].capacity() > kKeptBytesMax) std::string{}.swap(pieces_[0]);
    first_ = 0;
    offset_ = 0;
  } else if (first_ > 32) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

}  // namespace pawl::http
