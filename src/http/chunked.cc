#include "http/chunked.h"

#include <algorithm>

namespace pawl::http {
namespace {

constexpr size_t kLineBytesMax = 4096;
constexpr size_t kSizeDigitsMax = 15;

constexpr Refusal kBadChunk{400, "bad_chunk", "the chunked body is malformed"};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

}  // namespace

bool ChunkedDecoder::refuse() {
  refusal_ = kBadChunk;
  return false;
}

bool ChunkedDecoder::end_size_line() {
  size_t digits = 0;
  uint64_t size = 0;
  while (digits < line_.size() && hex_digit(line_[digits]) >= 0) {
    if (digits == kSizeDigitsMax) return refuse();
    size = size * 16 + static_cast<uint64_t>(hex_digit(line_[digits]));
    ++digits;
  }
  const std::string_view extension = std::string_view(line_).substr(digits);
  if (digits == 0 || (!extension.empty() && extension.front() != ';') || !printable(extension)) {
    return refuse();
  }
  left_ = size;
  state_ = size == 0 ? State::Trailer : State::Data;
  return true;
}

bool ChunkedDecoder::end_line() {
  if (line_.empty() || line_.back() != '\r') return refuse();
  line_.pop_back();
  bool good = true;
  if (state_ == State::SizeLine) {
    good = end_size_line();
  } else if (state_ == State::DataEnd) {
    good = line_.empty() || refuse();
    state_ = State::SizeLine;
  } else if (line_.empty()) {
    state_ = State::Done;
  } else {
    good = parse_field(line_).has_value() || refuse();
  }
  line_.clear();
  return good;
}

bool ChunkedDecoder::take_byte(char c) {
  if (++line_bytes_ > kLineBytesMax) return refuse();
  if (c == '\n') return end_line();
  // CR may only be the last byte of a line, and content must be followed by CRLF at once.
  if (!line_.empty() && line_.back() == '\r') return refuse();
  if (state_ == State::DataEnd && c != '\r') return refuse();
  if (state_ == State::SizeLine && line_.empty() && hex_digit(c) < 0) return refuse();
  line_.push_back(c);
  return true;
}

size_t ChunkedDecoder::feed(std::string_view input, std::string& body, size_t body_bytes_max) {
  size_t at = 0;
  while (at < input.size() && state_ != State::Done && !refusal_) {
    if (state_ != State::Data) {
      if (!take_byte(input[at++])) break;
      continue;
    }
    if (left_ > body_bytes_max - body.size()) {
      refusal_ = kBodyTooLarge;
      break;
    }
    const size_t count = static_cast<size_t>(std::min<uint64_t>(left_, input.size() - at));
    body.append(input.substr(at, count));
    at += count;
    left_ -= count;
    if (left_ == 0) {
      state_ = State::DataEnd;
      line_bytes_ = 0;
    }
  }
  return at;
}

}  // namespace pawl::http
