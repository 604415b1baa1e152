// Any text as the body of a request that brings a manifest and its nodes: it is judged within
// bounds and without a crash. What has no faults is stored, loads to the same program, and its
// printed form reads to the same hash.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "worlds/hash.h"
#include "worlds/program.h"
#include "worlds/testing/judging_host.h"

namespace {

using namespace pawl;
using namespace pawl::worlds;

using Items = std::map<std::string, std::string, std::less<>>;

std::optional<std::string> get(const Items& items, std::string_view hash) {
  const auto found = items.find(hash);
  if (found == items.end()) return std::nullopt;
  return found->second;
}

Result<ProgramText> read(json::View body, const Items& nodes, const Items& blobs) {
  JudgingHost host;
  return read_program(
      body.find("manifest"), body.find("nodes"),
      [&](std::string_view hash) { return get(nodes, hash); },
      [&](std::string_view hash) { return get(blobs, hash); }, host);
}

void check(const ProgramText& text) {
  Items nodes, blobs;
  for (const NodeBytes& node : text.nodes) {
    PAWL_CHECK(hash_of_structure(node.bytes) == node.hash);
    PAWL_CHECK(cbor::is_canonical(node.bytes));
    nodes[node.hash] = node.bytes;
  }
  for (const auto& [hash, code] : text.blobs) blobs[hash] = code;
  nodes[text.manifest_hash] = text.manifest;
  PAWL_CHECK(cbor::is_canonical(text.manifest));

  const auto loaded =
      load_program(text.manifest_hash, [&](std::string_view hash) { return get(nodes, hash); });
  PAWL_CHECK(loaded.ok());
  PAWL_CHECK((*loaded)->manifest_json == text.program->manifest_json);
  PAWL_CHECK((*loaded)->subscriptions.size() == text.program->subscriptions.size());

  const std::string printed = R"({"manifest":)" + text.program->manifest_json + "}";
  const auto doc = json::parse(printed);
  PAWL_CHECK(doc.ok());
  const auto again = read(doc->root(), nodes, blobs);
  PAWL_CHECK(again.ok() && again->faults.empty());
  PAWL_CHECK(again->manifest_hash == text.manifest_hash);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = json::parse(text);
  if (!body.ok()) return 0;
  const auto program = read(body->root(), {}, {});
  PAWL_CHECK(program.ok());
  PAWL_CHECK(program->faults.empty() == (program->program != nullptr));
  if (program->program != nullptr) check(*program);
  return 0;
}
