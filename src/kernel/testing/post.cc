#include "kernel/testing/post.h"

#include <algorithm>

#include "kernel/messages/inbox.h"
#include "kernel/messages/outbox.h"

namespace pawl {
namespace {

std::string unsettled_message(const State& state, uint16_t to, uint64_t number) {
  std::string bytes;
  each_unsettled(state, to, number, 1, [&](uint64_t found, std::string_view message) {
    if (found == number) bytes = message;
    return false;
  });
  return bytes;
}

}  // namespace

std::string Post::offer(uint16_t from, uint16_t to, bool to_everybody, uint64_t number) {
  const MessageHead head{from, to_everybody ? kEverybody : to, number};
  Message message;
  PAWL_CHECK(codec::decode(unsettled_message(worlds_[from]->state(), head.to, number), message));
  return worlds_[to]->frame([&](Frame& frame) -> std::string {
    auto taken = frame.attempt([&](Frame& in) { return take_message(in, head, message); });
    if (!taken.ok()) return worlds_[to]->refused(taken);
    return *taken ? "" : "old";
  });
}

std::string Post::next(uint16_t from, uint16_t to) {
  for (bool to_everybody : {false, true}) {
    const uint16_t stream = to_everybody ? kEverybody : to;
    const uint64_t taken = last_taken(worlds_[to]->state(), from, stream);
    if (taken < last_sent(worlds_[from]->state(), stream))
      return offer(from, to, to_everybody, taken + 1);
  }
  return "";
}

void Post::settle() {
  for (uint16_t from = 0; from < worlds_.size(); ++from) {
    uint64_t by_all = UINT64_MAX;
    for (uint16_t to = 0; to < worlds_.size(); ++to) {
      if (to == from) continue;
      const State& receiver = worlds_[to]->state();
      by_all = std::min(by_all, last_taken(receiver, from, kEverybody));
      worlds_[from]->frame([&](Frame& frame) {
        settle_messages(frame, to, last_taken(receiver, from, to), SIZE_MAX);
        return "";
      });
    }
    worlds_[from]->frame([&](Frame& frame) {
      settle_messages(frame, kEverybody, by_all, SIZE_MAX);
      return "";
    });
  }
}

size_t Post::carry_all() {
  size_t count = 0;
  for (bool more = true; more;) {
    more = false;
    for (uint16_t from = 0; from < worlds_.size(); ++from)
      for (uint16_t to = 0; to < worlds_.size(); ++to)
        while (from != to && !next(from, to).empty()) ++count, more = true;
  }
  settle();
  return count;
}

size_t Post::unsettled() const {
  size_t count = 0;
  for (const World* world : worlds_)
    world->state().each_doc_key(DocKind::Outbox, "", SIZE_MAX,
                                [&](std::string_view) { return ++count, true; });
  return count;
}

}  // namespace pawl
