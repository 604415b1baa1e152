#include "worldhost/commit_task.h"

#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "worldhost/state_table.h"
#include "worlds/items.h"

namespace pawl {

std::string deleted_world_key(const Uuid& world) { return "\x01" + world.text(); }

bool CommitTask::is_stale(const Frame& frame) const {
  if (writes_.refusals && writes_.refusals->load() != writes_.refusals_seen) return true;
  const State& state = frame.state();
  const auto world = find_world(state, writes_.name);
  if (!writes_.height_before)
    return world.has_value() || has_world(state, writes_.world) ||
           state.find_doc(DocKind::World, deleted_world_key(writes_.world)) != nullptr;
  if (world != writes_.world) return true;
  const Doc* doc =
      state.find_doc(DocKind::WorldItem, item_doc_key(writes_.world, worlds::head_key()));
  worlds::Head head;
  return doc == nullptr || !codec::decode(doc->value, head) ||
         head.height != *writes_.height_before;
}

std::optional<Parking> CommitTask::decide(Frame& frame, bool) {
  stale_ = is_stale(frame);
  if (!stale_) {
    if (writes_.creates) put_doc(frame, DocKind::World, writes_.name, writes_.world.bytes());
    for (const auto& [key, value] : writes_.items) {
      std::string doc = item_doc_key(writes_.world, key);
      if (value) {
        put_doc(frame, DocKind::WorldItem, doc, *value);
      } else if (frame.state().find_doc(DocKind::WorldItem, doc) != nullptr) {
        frame.emit(DocDeleted{DocKind::WorldItem, std::move(doc)});
      }
    }
    for (const InstanceMoved& moved : writes_.moved) frame.emit(moved);
    for (const DocPut& doc : writes_.docs) frame.emit(doc);
    if (writes_.removes) {
      frame.emit(DocDeleted{DocKind::World, writes_.name});
      put_doc(frame, DocKind::World, deleted_world_key(writes_.world), writes_.world.bytes());
    }
  }
  end_decision(stale_);
  return std::nullopt;
}

// Once: a task may be refused without being decided.
void CommitTask::end_decision(bool stale) {
  if (auto decided = std::exchange(decided_, nullptr)) decided(stale);
}

void CommitTask::durable(Wakes&) {
  over_(stale_ ? CommitFate::Stale : CommitFate::Durable, Error{ErrorCode::Internal, ""});
}

void CommitTask::refuse(const Error& error) {
  over_(CommitFate::Refused, error);
  end_decision(false);
}

}  // namespace pawl
