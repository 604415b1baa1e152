#include "embed/registry.h"

#include <algorithm>

#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::embed {
namespace {

constexpr size_t kVersionsMax = 1'000;
constexpr size_t kNameBytesMax = 255;
constexpr size_t kNamesMax = 100'000;
constexpr char kVersionMark = '\x1f';  // in the key of a version, not in that of a name

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == '/' || c == 0x7f;
         });
}

std::vector<StoredDefinition> versions_of(const State& state, const std::string& name) {
  std::vector<StoredDefinition> found;
  std::string prefix = definition_key(name, "");
  state.each_doc(DocKind::Definition, prefix, kVersionsMax + 1, [&](const Doc& doc) {
    if (doc.key.compare(0, prefix.size(), prefix) != 0) return false;
    StoredDefinition stored;
    if (codec::decode(doc.value, stored)) found.push_back(std::move(stored));
    return true;
  });
  return found;
}

// The label itself, or the first "<label>+n" that has this text or is free.
std::string version_for(const std::vector<StoredDefinition>& known, const std::string& label,
                        const std::string& canonical) {
  std::string version = label;
  for (size_t n = 2;; ++n) {
    auto taken = std::find_if(known.begin(), known.end(),
                              [&](const auto& each) { return each.version == version; });
    if (taken == known.end() || taken->canonical == canonical) return version;
    version = label + "+" + std::to_string(n);
  }
}

}  // namespace

Result<std::string> put_workflow(Frame& frame, const plan::ReadResult& read) {
  StoredDefinition stored;
  stored.name = read.script->name;
  if (!is_name(stored.name))
    return Error{ErrorCode::InvalidContent,
                 "workflow_id is required: up to 255 characters without '/' or control characters"};
  std::vector<StoredDefinition> known = versions_of(frame.state(), stored.name);
  for (const StoredDefinition& each : known) stored.number = std::max(stored.number, each.number);
  ++stored.number;
  stored.canonical = read.canonical;
  std::string label = read.script->version;
  if (label.empty()) {
    auto same = std::find_if(known.begin(), known.end(),
                             [&](const auto& each) { return each.canonical == stored.canonical; });
    label = same != known.end() ? same->version : "v" + std::to_string(stored.number);
  }
  stored.version = version_for(known, label, stored.canonical);
  auto same = std::find_if(known.begin(), known.end(),
                           [&](const auto& each) { return each.version == stored.version; });
  const Doc* current = frame.state().find_doc(DocKind::Definition, stored.name);
  if (same != known.end() && !same->removed && current != nullptr &&
      current->value == stored.version)
    return stored.version;
  if (same == known.end() && known.size() >= kVersionsMax)
    return Error{ErrorCode::Conflict, "'" + stored.name + "' has as many versions as it may have"};
  stored.description = read.script->description;
  if (read.script->input_schema.is_object()) stored.input_schema = read.script->input_schema.json();
  stored.created_ms = same != known.end() ? same->created_ms : frame.now_ms();
  put_doc(frame, DocKind::Definition, definition_key(stored.name, stored.version),
          codec::encoded(stored));
  put_doc(frame, DocKind::Definition, stored.name, stored.version);
  return stored.version;
}

Result<bool> remove_workflow(Frame& frame, const std::string& name) {
  if (frame.state().find_doc(DocKind::Definition, name) == nullptr) return false;
  size_t live = 0;
  frame.state().each_run(RunId(), true, SIZE_MAX, [&](const Run& run) {
    if (run.script && !is_terminal(run.state) && run.script->definition == name) ++live;
    return true;
  });
  if (live > 0)
    return Error{ErrorCode::Conflict,
                 "Cannot unregister workflow with " + std::to_string(live) + " running instances"};
  for (StoredDefinition& stored : versions_of(frame.state(), name)) {
    stored.removed = true;
    put_doc(frame, DocKind::Definition, definition_key(name, stored.version),
            codec::encoded(stored));
  }
  PAWL_TRY_DO(delete_doc(frame, DocKind::Definition, name));
  return true;
}

std::vector<std::string> workflow_names(const State& state) {
  std::vector<std::string> names;
  state.each_doc(DocKind::Definition, "", kNamesMax, [&](const Doc& doc) {
    if (doc.key.find(kVersionMark) == doc.key.npos) names.push_back(doc.key);
    return true;
  });
  return names;
}

}  // namespace pawl::embed
