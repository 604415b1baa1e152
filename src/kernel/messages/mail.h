// Numbers of the last messages sent and taken: small documents that are always in memory.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/keys.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {

inline std::string sent_key(uint16_t to) {
  std::string key = "s";
  put_big_endian(key, to, 2);
  return key;
}

// `to`: the receiver itself, or kEverybody.
inline std::string taken_key(uint16_t from, uint16_t to) {
  std::string key = "t";
  put_big_endian(key, from, 2);
  put_big_endian(key, to, 2);
  return key;
}

inline uint64_t mail_count(const State& state, const std::string& key) {
  const Doc* doc = state.find_doc(DocKind::Mail, key);
  return doc == nullptr ? 0 : codec::Reader(doc->value).varint();
}

inline void put_mail(Frame& frame, const std::string& key, uint64_t number) {
  std::string value;
  codec::put_varint(value, number);
  put_doc(frame, DocKind::Mail, key, value);
}

}  // namespace pawl
