// Genesis, the code that comes with a program, and stamps.
#include <algorithm>
#include <utility>

#include "worlds/commands.h"
#include "worlds/frame.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

void keep_once(World& world, Overlay& writes, const std::string& item_key,
               const std::string& content) {
  if (!world.table().get(item_key)) writes.put(item_key, content);
}

std::string entropy_of_test(std::string_view seed, uint64_t seq) {
  std::string preimage(seed);
  for (int shift = 56; shift >= 0; shift -= 8) preimage.push_back(static_cast<char>(seq >> shift));
  return sha512(preimage);
}

}  // namespace

Stamp next_stamp(const Head& head, int64_t clock_ns, std::string_view entropy64) {
  Stamp stamp;
  stamp.now_ns = head.test ? head.test_now_ns : clock_ns;
  stamp.logical_now_ns = std::max(stamp.now_ns, head.logical_now_ns);
  stamp.entropy = head.test ? entropy_of_test(head.seed, head.height + 1) : std::string(entropy64);
  return stamp;
}

void keep_program_text(World& world, Overlay& writes, const ProgramText& text) {
  for (const NodeBytes& node : text.nodes)
    keep_once(world, writes, node_key(node.hash), node.bytes);
  keep_once(world, writes, node_key(text.manifest_hash), text.manifest);
  for (const auto& [hash, code] : text.blobs) keep_once(world, writes, blob_key(hash), code);
}

void create_world(Deciding& deciding, const NewWorld& made, const ProgramText& text) {
  keep_program_text(deciding.world(), deciding.writes(), text);
  Frame frame(deciding, Frame::Clock::Stays);
  Head& head = frame.head();
  head.id = made.id;
  head.name = made.name;
  head.created_ms = made.created_ms;
  head.manifest_hash = text.manifest_hash;
  head.test = made.test;
  head.seed = made.seed;
  head.test_now_ns = made.test_now_ns;
  frame.append(RecordKind::Manifest, manifest_record(text.manifest_hash));
  frame.finish();
}

}  // namespace pawl::worlds
