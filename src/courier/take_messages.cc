#include "courier/take_messages.h"

#include <memory>
#include <utility>

#include "courier/message_batch.h"
#include "kernel/frame.h"
#include "kernel/messages/copied_settings.h"
#include "kernel/messages/inbox.h"
#include "kernel/state.h"

namespace pawl {
namespace {

class TakeMessages : public Task {
 public:
  TakeMessages(MessageBatch batch, size_t bytes, OnSetting on_setting,
               std::function<void(Result<std::string>)> done)
      : batch_(std::move(batch)),
        bytes_(bytes),
        on_setting_(std::move(on_setting)),
        done_(std::move(done)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    const uint16_t self = frame.state().partition();
    for (const BatchedMessage& each : batch_.messages) {
      const MessageHead head{batch_.from, each.to_everybody ? kEverybody : self, each.number};
      Status taken = take(frame, head, each.message);
      if (taken.ok()) continue;
      answer_.refusal = taken.error().message;
      break;
    }
    answer_.taken = last_taken(frame.state(), batch_.from, self);
    answer_.taken_of_everybody = last_taken(frame.state(), batch_.from, kEverybody);
    return std::nullopt;
  }
  void durable(Wakes&) override { done_(codec::encoded(answer_)); }
  void refuse(const Error& error) override { done_(error); }
  size_t weight() const override { return bytes_; }

 private:
  Status take(Frame& frame, const MessageHead& head, const std::string& encoded) {
    Message message;
    if (!codec::decode(encoded, message))
      return Error{ErrorCode::Corrupt, "a message cannot be read"};
    PAWL_TRY(bool is_new,
             frame.attempt([&](Frame& in) { return take_message(in, head, message); }));
    if (!is_new || !on_setting_) return ok_status();
    if (auto doc = copied_doc(message)) on_setting_(frame, doc->kind, doc->key);
    return ok_status();
  }

  MessageBatch batch_;
  size_t bytes_;
  OnSetting on_setting_;
  std::function<void(Result<std::string>)> done_;
  BatchAnswer answer_;
};

}  // namespace

void take_messages(EngineLoop& engine, const std::string& batch, OnSetting on_setting,
                   std::function<void(Result<std::string>)> done) {
  MessageBatch decoded;
  if (!codec::decode(batch, decoded))
    return done(Error{ErrorCode::InvalidContent, "a batch of messages cannot be read"});
  auto task = std::make_shared<TakeMessages>(std::move(decoded), batch.size(),
                                             std::move(on_setting), std::move(done));
  if (Status taken = engine.submit(task); !taken.ok()) task->refuse(taken.error());
}

}  // namespace pawl
