#include "kernel/messages/outbox.h"

#include <string>
#include <vector>

#include "kernel/frame.h"
#include "kernel/keys.h"
#include "kernel/messages/mail.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

std::string outbox_prefix(uint16_t to) {
  std::string key;
  put_big_endian(key, to, 2);
  return key;
}

std::string outbox_key(uint16_t to, uint64_t number) {
  std::string key = outbox_prefix(to);
  put_big_endian(key, number, 8);
  return key;
}

uint64_t number_of_key(std::string_view key) {
  uint64_t number = 0;
  for (size_t i = 2; i < key.size(); ++i) number = number << 8 | static_cast<uint8_t>(key[i]);
  return number;
}

}  // namespace

void send_message(Frame& frame, uint16_t to, const Message& message) {
  const State& state = frame.state();
  PAWL_CHECK(to == kEverybody || (to < state.partitions() && to != state.partition()));
  const uint64_t number = last_sent(state, to) + 1;
  put_doc(frame, DocKind::Outbox, outbox_key(to, number), codec::encoded(message));
  put_mail(frame, sent_key(to), number);
}

size_t settle_messages(Frame& frame, uint16_t to, uint64_t upto, size_t at_most) {
  std::vector<uint64_t> numbers;
  each_unsettled(frame.state(), to, 0, at_most, [&](uint64_t number, std::string_view) {
    if (number <= upto) numbers.push_back(number);
    return number < upto;
  });
  for (uint64_t number : numbers) frame.emit(DocDeleted{DocKind::Outbox, outbox_key(to, number)});
  return numbers.size();
}

uint64_t last_sent(const State& state, uint16_t to) { return mail_count(state, sent_key(to)); }

uint64_t first_unsettled(const State& state, uint16_t to) {
  const std::string prefix = outbox_prefix(to);
  uint64_t first = last_sent(state, to) + 1;
  each_unsettled(state, to, 0, 1, [&](uint64_t number, std::string_view) {
    first = number;
    return false;
  });
  return first;
}

void each_unsettled(const State& state, uint16_t to, uint64_t from, size_t limit,
                    FunctionRef<bool(uint64_t number, std::string_view message)> visit) {
  state.each_doc_under(DocKind::Outbox, outbox_prefix(to), outbox_key(to, from), limit,
                       [&](std::string_view key, std::string_view value) {
                         return visit(number_of_key(key), value);
                       });
}

}  // namespace pawl
