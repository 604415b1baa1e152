#include "worlds/testing/busy_world.h"

#include <utility>

#include "base/check.h"
#include "worlds/cbor.h"
#include "worlds/hash.h"
#include "worlds/replay.h"
#include "worlds/walk.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

std::string params_of(uint64_t n) {
  std::string out;
  cbor::Map(out).nat("n", n).end();
  return out;
}

std::string timer_params() {
  std::string out;
  cbor::Map(out).nat("deliver_at_ns", 1'800'000'000'000'000'000).null("key").end();
  return out;
}

std::string id_event(std::string_view id, uint64_t n) {
  std::string out;
  cbor::Map(out).text("id", id).nat("n", n).end();
  return out;
}

std::string note_event(std::string_view text) {
  std::string out;
  cbor::Map(out).text("text", text).end();
  return out;
}

uint64_t number_in(std::string_view record, std::string_view name) {
  const auto item = cbor::read(member_of(record, name));
  return item.ok() ? item->number : 0;
}

// What Start asks for. False: the step traps.
bool do_start(uint64_t n, std::string_view id, StepSaid& said) {
  switch (n) {
    case 1:
      said.effect("work.do", params_of(1), "work");
      return true;
    case 2:
      said.effect("work.do", params_of(2), "work").effect("safe.do", params_of(3), "safe");
      return true;
    case 3:
      said.event("t/Note@1", note_event(id));
      return true;
    case 4:
      said.status("completed");
      return true;
    case 5:
      said.status("failed", "it was told to");
      return true;
    case 6:
      return false;
    case 7:
      said.event("t/Start@1", id_event(std::string(id) + "x", 1));
      said.effect("timer.set", timer_params());
      return true;
    case 8:
      said.effect("other.do", params_of(8));
      return true;
    default:
      return true;
  }
}

ModuleCall busy_flow(std::string_view input) {
  const StepSeen seen(input);
  std::vector<std::string> log = log_of(seen.state);
  StepSaid said;
  log.emplace_back(seen.arm);
  if (seen.arm == "Start") {
    const uint64_t n = number_in(seen.arm_value, "n");
    log.back() += std::to_string(n);
    if (n == 9) return StepSaid().call();  // gone for good
    if (!do_start(n, string_of(member_of(seen.arm_value, "id")), said))
      return {.end = CallEnd::Trap, .output = {}, .fuel = 7};
  }
  return said.state(log_state(log)).call();
}

ModuleCall busy_plain(std::string_view input) {
  const StepSeen seen(input);
  std::vector<std::string> log = log_of(seen.state);
  log.emplace_back(seen.arm);
  StepSaid said;
  if (seen.arm == "Note" && log.size() % 3 == 0) said.effect("work.do", params_of(log.size()));
  if (log.size() > 20) log.clear();
  return said.state(log_state(log)).call();
}

// Small and plain; lives must be the same everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t below(uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % bound;
  }

 private:
  uint64_t state_;
};

void settle_one(BusyWorld& world, Dice& dice) {
  const std::vector<std::string> open = world.open();
  if (open.empty()) return;
  const std::string& hash = open[dice.below(open.size())];
  const std::string kind = world.world().intent(hash)->kind;
  const uint64_t way = dice.below(8);
  if (way == 0) {
    world.receipt(hash, "error", R"({"code":"E","message":"no"})");
  } else if (way == 1) {
    world.receipt(hash, "timeout", R"({"code":"T","message":"late"})");
  } else if (way == 2) {
    world.receipt(hash, "ok", R"({"wrong":true})");
  } else if (kind == "timer.set") {
    world.receipt(hash, "ok", R"({"delivered_at_ns":1800000000000000000,"key":null})");
  } else {
    world.receipt(hash, "ok", R"({"text":"done","tags":["b","a","b"]})");
  }
}

void govern(BusyWorld& world, Dice& dice) {
  const WorldText other = other_body();
  const uint64_t verb = dice.below(5);
  if (verb == 0) world.propose(other);
  const std::string id = world.last_proposal();
  if (id.empty()) return;
  if (verb == 1) world.shadow(id, other);
  if (verb == 2) world.approve(id);
  if (verb == 3 && dice.below(3) == 0) world.reject(id);
  if (verb == 4) world.apply(id, other);
}

}  // namespace

void make_busy(NativeHost& host) {
  host.set("flow", busy_flow);
  host.set("plain", busy_plain);
}

std::string BusyWorld::start(std::string_view id, int n, std::string_view client_id) {
  return post("t/Start@1", "{\"id\":\"" + std::string(id) + "\",\"n\":" + std::to_string(n) + "}",
              {}, client_id);
}

std::string BusyWorld::note(std::string_view text) {
  return post("t/Note@1", "{\"text\":\"" + std::string(text) + "\"}");
}

std::string BusyWorld::poke(std::string_view id) {
  return post("t/Poke@1", "{\"id\":\"" + std::string(id) + "\"}");
}

ProgramText BusyWorld::read(const WorldText& body) {
  const std::string json = body.text();
  Result<json::Doc> doc = json::parse(json);
  PAWL_CHECK(doc.ok());
  Result<ProgramText> read = read_program(
      doc->root().find("manifest"), doc->root().find("nodes"),
      [&](std::string_view hash) { return world().node(hash); },
      [&](std::string_view hash) { return world().blob(hash); }, host);
  PAWL_CHECK(read.ok() && read->program != nullptr);
  return *std::move(read);
}

std::string BusyWorld::propose(const WorldText& body) {
  const ProgramText text = read(body);
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY_DO(worlds::propose(deciding, text, std::nullopt, "a change"));
    return ok_status();
  });
}

std::string BusyWorld::last_proposal() {
  uint64_t seq = 0;
  world().each_proposal("", [&](std::string_view, const Proposal& proposal) {
    seq = proposal.seq;
    return true;
  });
  return seq == 0 ? std::string() : proposal_id(seq);
}

std::string BusyWorld::shadow(std::string_view id, const WorldText& candidate, ShadowOrder order) {
  const ProgramText text = read(candidate);
  order.proposal_id = id;
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY(Shadowed shadowed, worlds::shadow(deciding, order, text.program));
    report = std::move(shadowed.report_json);
    return ok_status();
  });
}

std::string BusyWorld::approve(std::string_view id) {
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY_DO(worlds::approve(deciding, id));
    return ok_status();
  });
}

std::string BusyWorld::reject(std::string_view id) {
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY_DO(worlds::reject(deciding, id));
    return ok_status();
  });
}

std::string BusyWorld::apply(std::string_view id, const WorldText& body, uint64_t queued) {
  const ProgramText text = read(body);
  std::string line = run([&](Deciding& deciding) -> Status {
    PAWL_TRY_DO(apply_program(deciding, id, text.program, {.queued = queued}));
    keep_program_text(deciding.world(), deciding.writes(), text);
    return ok_status();
  });
  if (!line.starts_with("refused")) use(body);
  return line;
}

std::string BusyWorld::snapshot() {
  return run([&](Deciding& deciding) -> Status {
    take_snapshot(deciding);
    return ok_status();
  });
}

std::string BusyWorld::item(const std::string& key) {
  return world().table().get(key).value_or("");
}

void BusyWorld::put_item(const std::string& key, std::string value) {
  run([&](Deciding& deciding) {
    deciding.writes().put(key, value);
    return ok_status();
  });
}

void BusyWorld::remove_item(const std::string& key) {
  run([&](Deciding& deciding) {
    deciding.writes().remove(key);
    return ok_status();
  });
}

void BusyWorld::flip(const std::string& key, size_t at) {
  std::string bytes = item(key);
  PAWL_CHECK(at < bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 0x01);
  put_item(key, std::move(bytes));
}

WorldText other_body() {
  return WorldText().with(R"("event":"t/Note@1","effects_emitted":["work.do"])",
                          R"("event":"t/Note@1","effects_emitted":[])");
}

void lead_life(BusyWorld& world, uint64_t seed, size_t inputs) {
  Dice dice(seed);
  for (size_t i = 0; i < inputs; ++i) {
    const std::string id(1, static_cast<char>('a' + dice.below(5)));
    const std::string key = "\"" + id + "\"";
    switch (dice.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        world.start(id, static_cast<int>(dice.below(11)),
                    dice.below(4) == 0 ? "client " + std::to_string(dice.below(20)) : "");
        break;
      case 4:
        world.note(id);
        break;
      case 5:
        world.poke(id);
        break;
      case 6:
      case 7:
      case 8:
        settle_one(world, dice);
        break;
      case 9:
        world.system_effect("work.do", R"({"n":5})", "cap_work");
        break;
      case 10:
        if (dice.below(3) == 0) world.terminate("t/flow@1", key);
        break;
      case 11:
        world.retry("t/flow@1", key);
        break;
      case 12:
        if (dice.below(2) == 0) world.forget(world.now_ns / 1'000'000 - 20'000, dice.below(4));
        break;
      default:
        govern(world, dice);
        break;
    }
  }
}

std::string replayed(BusyWorld& world, ReplayFrom from) {
  const auto result = replay(world.world(), world.host, from, [] { return true; });
  if (result.ok()) return "ok " + std::to_string(result->frames);
  const Error& error = result.error();
  std::string line(wire_code(error));
  if (const auto seq = broken_frame(error)) line += " " + std::to_string(*seq);
  return line;
}

std::string digest_line(const Digest& digest) {
  return std::to_string(digest.height) + " " + digest.manifest_hash + " " + digest.state_root +
         " " + digest.instances_root + " " + digest.queue_root;
}

}  // namespace pawl::worlds
