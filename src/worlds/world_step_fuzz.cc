// Any bytes as what a module says, what an adapter answers or what a client posts, by the first
// byte: a world takes it or refuses it, and what it journals is canonical. Nothing that is kept was
// read from bytes that are not CBOR.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "worlds/cbor.h"
#include "worlds/testing/test_world.h"

namespace {

using namespace pawl;
using namespace pawl::worlds;

struct FuzzWorld : TestWorld {
  FuzzWorld() {
    host.set("flow", saying_at_first(
                         [](StepSaid& said) { said.effect("work.do", work_params(1), "work"); }));
    post("t/Start@1", kStartA);
    intent = opened.front();
    host.set("plain", [this](std::string_view) {
      return ModuleCall{.end = CallEnd::Returned, .output = output, .fuel = 1};
    });
  }
  std::string intent, output;
};

// Decides on a fork: the world stays as it was.
void decide(FuzzWorld& world, FunctionRef<Status(Deciding&)> command) {
  const Head head = world.world().head();
  Deciding deciding(world.world().table(), std::make_shared<const Program>(world.program()),
                    world.host, next_stamp(head, world.now_ns, std::string(64, 'e')));
  if (!command(deciding).ok()) return PAWL_CHECK(deciding.writes().writes().empty());
  const auto frame = deciding.world().frame(head.height + 1);
  if (!frame) return;
  for (const JournalRecord& record : frame->records) {
    const auto canonical = cbor::canonical(record.bytes);
    PAWL_CHECK(canonical.ok() && *canonical == record.bytes);
    if (static_cast<RecordKind>(record.kind) == RecordKind::Step &&
        in_record(record.bytes, "module") == "t/plain@1")
      PAWL_CHECK(cbor::read(world.output).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FuzzWorld world;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  world.output = StepSaid().bytes();
  decide(world, [&](Deciding& deciding) -> Status {
    GivenEvent given;
    given.schema = "t/Note@1";
    given.value_bytes = cbor_text(R"({"text":"x"})");
    if (data[0] % 3 == 0) world.output = bytes;
    if (data[0] % 3 == 1) given.value_bytes = std::string(bytes);
    if (data[0] % 3 == 2) {
      GivenReceipt receipt{.intent_hash = world.intent, .adapter_id = "hand"};
      receipt.status = data[0] < 128 ? "ok" : "error";
      receipt.payload = bytes;
      PAWL_TRY_DO(take_receipt(deciding, receipt));
      return ok_status();
    }
    PAWL_TRY(const Event event, judge_event(deciding.program(), given));
    PAWL_TRY_DO(post_event(deciding, event));
    return ok_status();
  });
  return 0;
}
