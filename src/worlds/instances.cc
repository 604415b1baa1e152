// What people do to instances: end one, or have a failed one try again.
#include <utility>

#include "worlds/commands.h"
#include "worlds/drain.h"
#include "worlds/failed_input.h"

namespace pawl::worlds {
namespace {

Error unknown_instance(std::string_view module) {
  return Error{ErrorCode::NotFound, "there is no such instance of '" + std::string(module) + "'"};
}

Cause append_instance(Frame& frame, std::string_view module, std::string_view key,
                      std::string_view action, uint64_t dropped) {
  return {
      .seq = frame.seq(),
      .n = frame.append(RecordKind::Instance, instance_record({.module = module,
                                                               .key = record_key(key),
                                                               .action = action,
                                                               .dropped = dropped,
                                                               .stamp = frame.stamp_record()}))};
}

bool has_ended(const Instance& instance) {
  return instance.status == InstanceStatus::Completed || instance.status == InstanceStatus::Failed;
}

}  // namespace

Status terminate_instance(Deciding& deciding, std::string_view module, std::string_view key) {
  Frame frame(deciding, Frame::Clock::Moves);
  const Instance* found = frame.instance(module, key);
  if (found == nullptr) return unknown_instance(module);
  // A failed one may hold intents that nobody will answer: ending it drops them.
  if (has_ended(*found) && found->inflight.empty())
    return Error{ErrorCode::Conflict, "the instance has ended already"};
  Instance& instance = frame.change_instance(module, key);
  append_instance(frame, module, key, "terminated", frame.drop_open_intents(instance));
  instance.status = InstanceStatus::Failed;
  instance.error_code = kTerminated;
  instance.error_detail.clear();
  instance.error_seq = frame.seq();
  instance.failed_cause_seq = 0;
  instance.failed_cause_n = 0;
  instance.last_seq = frame.seq();
  frame.finish();
  return ok_status();
}

Status retry_instance(Deciding& deciding, std::string_view module, std::string_view key) {
  Frame frame(deciding, Frame::Clock::Moves);
  const Instance* found = frame.instance(module, key);
  if (found == nullptr) return unknown_instance(module);
  if (found->status != InstanceStatus::Failed)
    return refusal(ErrorCode::Conflict, "run.unsupported", "only a failed instance can be retried");
  std::optional<FailedInput> input =
      find_failed_input(deciding.world(), frame.program(), module, key, *found);
  if (!input) {
    return refusal(ErrorCode::Conflict, "run.unsupported",
                   "the input that failed the instance cannot be delivered again");
  }
  const Cause retried = append_instance(frame, module, key, "retried", 0);
  // Whatever the step says replaces this; a failed instance would not be stepped.
  frame.change_instance(module, key).status = InstanceStatus::Running;
  Drain drain(frame);
  drain.queue({.module = input->delivery.module,
               .key = std::string(key),
               .arm = std::move(input->delivery.arm),
               .content = std::move(input->delivery.content),
               .cause = retried,
               .input = input->record,
               .route = input->route});
  PAWL_TRY_DO(drain.run());
  frame.finish();
  return ok_status();
}

}  // namespace pawl::worlds
