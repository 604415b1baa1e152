#include <algorithm>

#include "worlds/fill_in.h"
#include "worlds/hash.h"
#include "worlds/judge_program.h"
#include "worlds/manifest_reader.h"
#include "worlds/members.h"
#include "worlds/program.h"

namespace pawl::worlds {
namespace {

// The manifest of a body; an empty one after a complaint.
ManifestDraft read_given_manifest(std::optional<json::View> manifest, GivenJson& json,
                                  ProgramText& text) {
  if (!manifest || manifest->is_null()) {
    complain(text.faults, "/manifest", "field.missing", "is required");
    return {};
  }
  const std::optional<std::string> bytes = json.read(*manifest, "/manifest");
  if (!bytes) return {};
  if (bytes->size() > kManifestBytesMax) {
    complain(text.faults, "/manifest", "limit.invalid", "is larger than 4 MiB");
    return {};
  }
  const Result<cbor::Item> item = cbor::read(*bytes);
  if (item.ok()) return read_manifest(*item, text.faults, text.warnings);
  complain(text.faults, "/manifest", "type.invalid", item.error().message);
  return {};
}

void bound(std::vector<Complaint>& faults) {
  cut_at_mark(faults);
  if (faults.size() > kFaultsMax) faults.resize(kFaultsMax);
}

void give_text(Program& program, std::string manifest, std::string hash) {
  const Result<cbor::Item> item = cbor::read(manifest);
  PAWL_CHECK(item.ok());  // write_manifest() wrote it, or it was just read
  cbor::append_json(program.manifest_json, *item);
  program.manifest = std::move(manifest);
  program.manifest_hash = std::move(hash);
}

Error no_longer(std::string_view manifest_hash, const std::string& why) {
  return Error{ErrorCode::Corrupt, "the manifest " + std::string(manifest_hash) + " " + why};
}

}  // namespace

Result<ProgramText> read_program(std::optional<json::View> manifest,
                                 std::optional<json::View> nodes, FindBytes find_node,
                                 FindBytes find_blob, ModuleHost& host) {
  ProgramText text;
  GivenJson json(text.faults);
  ManifestDraft manifest_draft = read_given_manifest(manifest, json, text);
  std::vector<NodeDraft> given;
  if (nodes) given = read_given_nodes(*nodes, json, text.faults);
  Draft draft =
      fill_in(std::move(manifest_draft), std::move(given), find_node, text.faults, text.warnings);
  const std::shared_ptr<Program> program = judge_program(draft, text.faults);
  PAWL_TRY_DO(judge_code(draft, program->limits, find_blob, host, text.faults));
  json.finish();
  bound(text.faults);
  bound(text.warnings);
  if (!text.faults.empty()) return text;

  text.manifest = write_manifest(draft.manifest);
  text.manifest_hash = hash_of_structure(text.manifest);
  give_text(*program, text.manifest, text.manifest_hash);
  for (NodeDraft& node : draft.nodes) {
    if (node.code)
      text.blobs.emplace(std::get<ModuleDraft>(node.def).module.wasm_hash, *std::move(node.code));
    text.nodes.push_back({std::move(node.hash), std::move(node.bytes)});
  }
  text.program = program;
  return text;
}

Result<std::shared_ptr<const Program>> load_program(std::string_view manifest_hash,
                                                    FindBytes find_node) {
  std::optional<std::string> bytes = find_node(manifest_hash);
  if (!bytes) return no_longer(manifest_hash, "is not stored");
  if (hash_of_structure(*bytes) != manifest_hash)
    return no_longer(manifest_hash, "is not what it was");
  const Result<cbor::Item> item = cbor::read(*bytes);
  if (!item.ok()) return no_longer(manifest_hash, "cannot be read: " + item.error().message);
  std::vector<Complaint> faults, warnings;
  const Draft draft =
      fill_in(read_manifest(*item, faults, warnings), {}, find_node, faults, warnings);
  const std::shared_ptr<Program> program = judge_program(draft, faults);
  cut_at_mark(faults);
  if (!faults.empty())
    return no_longer(manifest_hash,
                     "cannot be used: " + faults.front().path + " " + faults.front().message);
  give_text(*program, *std::move(bytes), std::string(manifest_hash));
  return std::shared_ptr<const Program>(program);
}

}  // namespace pawl::worlds
