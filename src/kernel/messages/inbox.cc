#include "kernel/messages/inbox.h"

#include <string>

#include "kernel/frame.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/copied_settings.h"
#include "kernel/messages/mail.h"
#include "kernel/messages/placing.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"

namespace pawl {
namespace {

// Reads the body before anything is emitted; `work` then cannot fail.
template <class Body>
Status do_work(Frame& frame, const MessageHead& head, const Message& message, auto&& work) {
  Body body;
  if (!codec::decode(message.body, body))
    return Error{ErrorCode::Corrupt, "message " + std::to_string(head.number) + " of partition " +
                                         std::to_string(head.from) + " cannot be read"};
  put_mail(frame, taken_key(head.from, head.to), head.number);
  work(frame, body);
  return ok_status();
}

Status take_next(Frame& frame, const MessageHead& head, const Message& message) {
  switch (message.kind) {
    case MessageKind::None:
      break;
    case MessageKind::DocPut:
      return do_work<DocPut>(frame, head, message, take_copied_doc);
    case MessageKind::DocDeleted:
      return do_work<DocDeleted>(frame, head, message, take_copied_deletion);
    case MessageKind::QueueConfigured:
      return do_work<QueueConfigured>(frame, head, message, take_copied_queue);
    case MessageKind::LimitConfigured:
      return do_work<LimitConfigured>(frame, head, message, take_copied_limit);
    case MessageKind::QueueRate:
      return do_work<SharedQueueRate>(frame, head, message, take_queue_rate);
    case MessageKind::Place:
      return do_work<NewJob>(frame, head, message, take_placed);
    case MessageKind::Began:
      return do_work<MemberBegan>(frame, head, message, take_began);
    case MessageKind::Ended:
      return do_work<MemberEnded>(frame, head, message, take_ended);
    case MessageKind::Cancel:
      return do_work<MemberCancelled>(frame, head, message, take_cancelled);
    case MessageKind::Revive:
      return do_work<MemberRevived>(frame, head, message, take_revived);
    case MessageKind::Claim:
      return do_work<AskedClaim>(frame, head, message, take_claim);
    case MessageKind::Granted:
    case MessageKind::Refused:
      return do_work<AnsweredClaim>(frame, head, message, take_claim_answer);
    case MessageKind::Release:
      return do_work<ReleasedClaim>(frame, head, message, take_release);
  }
  return Error{ErrorCode::Corrupt, "message " + std::to_string(head.number) + " of partition " +
                                       std::to_string(head.from) + " has an unknown kind (" +
                                       std::to_string(static_cast<int>(message.kind)) + ")"};
}

}  // namespace

uint64_t last_taken(const State& state, uint16_t from, uint16_t to) {
  return mail_count(state, taken_key(from, to));
}

Result<bool> take_message(Frame& frame, const MessageHead& head, const Message& message) {
  const State& state = frame.state();
  if (head.from >= state.partitions() || head.from == state.partition() ||
      (head.to != state.partition() && head.to != kEverybody))
    return Error{ErrorCode::Conflict, "the message is not for this partition"};
  const uint64_t taken = last_taken(state, head.from, head.to);
  if (head.number <= taken) return false;
  if (head.number != taken + 1)
    return Error{ErrorCode::Conflict, "messages of partition " + std::to_string(head.from) +
                                          " are missing: after " + std::to_string(taken) +
                                          " came " + std::to_string(head.number)};
  PAWL_TRY_DO(take_next(frame, head, message));
  return true;
}

}  // namespace pawl
