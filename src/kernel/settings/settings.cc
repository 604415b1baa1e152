#include "kernel/settings/settings.h"

#include "kernel/frame.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"

namespace pawl {

Status configure_queue(Frame& frame, const std::string& scoped,
                       FunctionRef<void(QueueSettings&)> edit) {
  const Queue* queue = frame.state().find_queue(scoped);
  if (queue == nullptr && !frame.state().has_room_for_queue())
    return Error{ErrorCode::Overloaded, "the server has as many queues as it may hold"};
  QueueConfigured event;
  event.queue = scoped;
  if (queue != nullptr) event.settings = queue->settings;
  event.paused_before = event.settings.paused;
  QueueSettings before = event.settings;
  event.settings.deleted = false;  // setting something on a queue restores it
  edit(event.settings);
  if (queue == nullptr || !(event.settings == before)) frame.emit(event);
  return ok_status();
}

void put_doc(Frame& frame, DocKind kind, const std::string& key, const std::string& value,
             int64_t expires_ms) {
  frame.emit(DocPut{kind, key, value, expires_ms});
}

Status delete_doc(Frame& frame, DocKind kind, const std::string& key) {
  if (frame.state().find_doc(kind, key) == nullptr) return Error{ErrorCode::NotFound, "not found"};
  frame.emit(DocDeleted{kind, key});
  return ok_status();
}

}  // namespace pawl
