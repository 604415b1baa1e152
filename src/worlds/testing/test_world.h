// TestWorld: a world in memory under the host of native functions. Every command is one call that
// returns the frame it wrote as a line, or "refused <code>"; a refused command must have written
// nothing.
//
// Needs no GoogleTest.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/commands.h"
#include "worlds/testing/journal_lines.h"
#include "worlds/testing/native_host.h"

namespace pawl::worlds {

// The body of a request with a manifest and nodes, in parts that a test can change. Schemas, all of
// t/…@1:
//   Start{id,n}, Poke{id}, Note{text}, Id text, State{log: list text}, Params{n}, Done{text}
// Modules, with their code's name:
//   flow   keyed by Id, hears Start, Poke, receipts, rejections and denials in arms; has a context;
//   may ask for
//          work.do (slots "default" and "work"), safe.do (slot "safe"), timer.set, http.request
//   plain  hears Note and receipts; may ask for work.do; no context
//   timer  keyed, hears Start and sys/TimerFired@1; may ask for timer.set
//   deaf   its event is Note itself; may ask for work.do
//   guard  enforcer of t/Safe@1
// Grants: cap_work, cap_safe, cap_timer, cap_http.
struct WorldText {
  WorldText();
  // Replaces the one place where `part` stands.
  WorldText& with(std::string_view part, std::string_view other);
  std::string text() const;  // {"manifest":…,"nodes":[…]}

  std::string manifest;
  std::vector<std::string> nodes;
};

class TestWorld {
 public:
  explicit TestWorld(const WorldText& body = {});

  // --- commands
  std::string post(std::string_view schema, std::string_view json, std::string_view key_json = {},
                   std::string_view client_id = {});
  // By adapter "hand", whose receipts need no judging. The payload is JSON.
  std::string receipt(const std::string& intent, std::string_view status,
                      std::string_view payload_json);
  std::string system_effect(std::string_view kind, std::string_view params_json,
                            std::string_view cap);
  std::string terminate(std::string_view module, std::string_view key_json = {});
  std::string retry(std::string_view module, std::string_view key_json = {});
  std::string forget(int64_t ended_before_ms, size_t at_most = 1000);
  // Any other.
  std::string run(FunctionRef<Status(Deciding&)> command);

  // --- what there is
  World& world() { return world_; }
  const Program& program() const { return *program_; }
  // "waiting", "failed step.trap", "none" …, with the texts of the state's log.
  std::string instance(std::string_view module, std::string_view key_json = {});
  // Hashes of open intents, in emission order.
  std::vector<std::string> open();
  std::string last_frame() { return frame_line(world_, world_.head().height); }
  // The n-th record of a frame; 0 = of the last one.
  std::string record(uint32_t n, uint64_t seq = 0);
  std::string records_of(std::string_view kind);  // how many there are in the last frame
  const std::map<std::string, std::optional<std::string>, std::less<>>& items() {
    return table_.writes();
  }
  // Changes the program without a governance frame.
  void use(const WorldText& body);

  NativeHost host;
  int64_t now_ns = 1'700'000'000'000'000'000;  // a second more with each command
  std::string entropy;                         // of the next frames; "": made of the frame's number
  const std::vector<uint64_t>* timed_out = nullptr;
  // Of the last command.
  std::map<std::string, InstanceChange> changed;
  std::vector<std::string> opened, settled;
  std::optional<EventReply> reply;
  std::optional<ReceiptReply> receipt_reply;
  Error error{ErrorCode::Internal, ""};

 private:
  std::shared_ptr<const Program> read(const WorldText& body, ProgramText& text);

  EmptyTable empty_;
  Overlay table_{empty_};
  World world_{table_};
  std::shared_ptr<const Program> program_;
};

constexpr std::string_view kFlow = "t/flow@1";
constexpr std::string_view kStartA = R"({"id":"a","n":1})";  // a Start event for instance "a"
constexpr std::string_view kKeyA = R"("a")";

// t/Params@1
std::string work_params(uint64_t n);
// A module that on its first event says what `say` adds, and otherwise logs what it hears.
NativeHost::Function saying_at_first(std::function<void(StepSaid&)> say);

// Canonical bytes of plain JSON.
std::string cbor_text(std::string_view json);
// A state of the test modules: its log.
std::string log_state(const std::vector<std::string>& lines);
// The lines of such a state.
std::vector<std::string> log_of(MaybeBytes state);

}  // namespace pawl::worlds
