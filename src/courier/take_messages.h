// The receiver's side: takes a batch that a courier has carried here.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "journal/events.h"

namespace pawl {

class Frame;

// A copied document was put or deleted in this frame: memory that is derived from settings (the
// ring of API keys, the maintenance flag, subscriptions of webhooks) follows. Engine thread.
using OnSetting = std::function<void(Frame& frame, DocKind kind, const std::string& key)>;

// Takes what is new of the batch, in order, and calls `done` with the answer for the courier
// (BatchAnswer, encoded) when that is durable; with an error if nothing of it counts: then it comes
// again. `done` may come on any thread.
void take_messages(EngineLoop& engine, const std::string& batch, OnSetting on_setting,
                   std::function<void(Result<std::string>)> done);

}  // namespace pawl
