// Operators' settings: queues and documents.
#pragma once

#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "journal/events.h"

namespace pawl {

class Frame;

// Changes a queue's settings through `edit`; the queue is made if it is not there. Nothing is
// written if nothing changes.
Status configure_queue(Frame& frame, const std::string& scoped,
                       FunctionRef<void(QueueSettings&)> edit);

void put_doc(Frame& frame, DocKind kind, const std::string& key, const std::string& value,
             int64_t expires_ms = 0);
Status delete_doc(Frame& frame, DocKind kind, const std::string& key);

}  // namespace pawl
