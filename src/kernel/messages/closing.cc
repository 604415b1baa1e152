#include "kernel/messages/closing.h"

#include <algorithm>

#include "kernel/frame.h"
#include "kernel/messages/message.h"
#include "kernel/messages/outbox.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr size_t kRunsCounted = 20'000;
constexpr size_t kReopenedPerFrame = 100;

std::string closing_key(const Uuid& token) { return "d" + token.bytes(); }
std::string closed_key(const std::string& name) { return "c" + name; }

// At partition 0: who has counted, and what.
struct Closing {
  ClosedDefinition definition;
  std::vector<uint16_t> counted;
  uint64_t live = 0;
  int64_t since_ms = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "definition", self.definition);
    visit(2, "counted", self.counted);
    visit(3, "live", self.live);
    visit(4, "since_ms", self.since_ms);
  }
};

std::optional<Closing> closing_of(const State& state, const Uuid& token) {
  const Doc* doc = state.find_doc(DocKind::Claim, closing_key(token));
  Closing closing;
  if (doc == nullptr || !codec::decode(doc->value, closing)) return std::nullopt;
  return closing;
}

bool have_all_counted(const State& state, const Closing& closing) {
  return closing.counted.size() + 1u == state.partitions();
}

}  // namespace

uint64_t live_runs(const State& state, const std::string& name, const std::string& version) {
  uint64_t live = 0;
  state.each_run(RunId(), true, kRunsCounted, [&](const Run& run) {
    if (!is_terminal(run.state) && family_of(run).follows(run, name, version)) ++live;
    return true;
  });
  return live;
}

// --- partition 0

Result<Uuid> begin_closing(Frame& frame, const std::string& name, const std::string& version) {
  if (is_closed(frame.state(), name))
    return Error{ErrorCode::Conflict, "definition '" + name + "' is being deleted already"};
  Closing closing;
  closing.definition = {frame.fresh_id(), name, version};
  closing.since_ms = frame.now_ms();
  const Uuid token = closing.definition.token;
  put_doc(frame, DocKind::Claim, closing_key(token), codec::encoded(closing));
  put_doc(frame, DocKind::Mail, closed_key(name), token.bytes());
  send_message(frame, kEverybody, message_of(MessageKind::Close, closing.definition));
  return token;
}

std::optional<uint64_t> counted_runs(const State& state, const Uuid& token) {
  auto closing = closing_of(state, token);
  if (!closing || !have_all_counted(state, *closing)) return std::nullopt;
  return closing->live + live_runs(state, closing->definition.name, closing->definition.version);
}

void reopen_definition(Frame& frame, const Uuid& token) {
  auto closing = closing_of(frame.state(), token);
  if (!closing) return;
  frame.emit(DocDeleted{DocKind::Claim, closing_key(token)});
  take_reopened(frame, closing->definition);
  send_message(frame, kEverybody, message_of(MessageKind::Reopen, closing->definition));
}

size_t reopen_stale(Frame& frame, int64_t before_ms) {
  std::vector<Uuid> stale;
  frame.state().each_doc_under(DocKind::Claim, "d", "", kReopenedPerFrame,
                               [&](std::string_view, std::string_view value) {
                                 Closing closing;
                                 if (codec::decode(value, closing) && closing.since_ms < before_ms)
                                   stale.push_back(closing.definition.token);
                                 return true;
                               });
  for (const Uuid& token : stale) reopen_definition(frame, token);
  return stale.size();
}

void take_counted(Frame& frame, const CountedRuns& counted) {
  auto closing = closing_of(frame.state(), counted.token);
  if (!closing) return;  // given up meanwhile
  closing->counted.push_back(counted.partition);
  closing->live += counted.live;
  put_doc(frame, DocKind::Claim, closing_key(counted.token), codec::encoded(*closing));
  if (have_all_counted(frame.state(), *closing)) frame.note_answered(counted.token);
}

// --- everybody

bool is_closed(const State& state, const std::string& name) {
  return state.partitions() > 1 && state.find_doc(DocKind::Mail, closed_key(name)) != nullptr;
}

void take_closed(Frame& frame, const ClosedDefinition& closed) {
  put_doc(frame, DocKind::Mail, closed_key(closed.name), closed.token.bytes());
  const CountedRuns counted{closed.token, frame.state().partition(),
                            live_runs(frame.state(), closed.name, closed.version)};
  send_message(frame, 0, message_of(MessageKind::Counted, counted));
}

void take_reopened(Frame& frame, const ClosedDefinition& closed) {
  if (frame.state().find_doc(DocKind::Mail, closed_key(closed.name)) != nullptr)
    frame.emit(DocDeleted{DocKind::Mail, closed_key(closed.name)});
}

}  // namespace pawl
