#include "sim/module_crowd.h"

#include <algorithm>

#include "base/hash.h"
#include "base/plant.h"
#include "worldhost/own_keys.h"
#include "worlds/cbor.h"
#include "worlds/frame.h"
#include "worlds/governance.h"
#include "worlds/replay.h"

namespace pawl::sim {
namespace {

const std::vector<std::string> kWorldNames = {"m1", "m2"};
const std::vector<std::string> kAdapters = {"ad1", "ad2", "ad3"};
const std::vector<std::string> kLeasedKinds = {"sim.call", "sim.guarded", "sim.denied",
                                               "blob.put", "blob.get",    "job.run"};
constexpr size_t kLeasesKept = 60;
constexpr size_t kSentKept = 30;

// The body of a request, for as long as something points into it.
struct RequestBody {
  explicit RequestBody(std::string given) : text(std::move(given)), doc(*json::parse(text)) {}
  const std::string text;
  const json::Doc doc;
};

std::string raw_of_hex(const std::string& hex) {
  std::string raw;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    raw += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return raw;
}

std::string secret_of(const Uuid& world, const std::string& adapter) {
  return "the secret of " + adapter + " in " + world.text();
}

std::string sign(const std::string& secret, const Uuid& world,
                 const worlds::GivenReceipt& receipt) {
  const std::string message =
      plain_head(4, 7) + plain_text("receipt/v1") + plain_text(world.text()) +
      plain_text(receipt.intent_hash) + plain_text(receipt.adapter_id) +
      plain_text(receipt.status) + plain_text(plain_hash_of_bytes(receipt.payload)) +
      (receipt.cost_cents ? plain_nat(static_cast<uint64_t>(*receipt.cost_cents)) : "\xf6");
  return raw_of_hex(hmac_sha256_hex(secret, message));
}

Status to_status(auto outcome) {
  return outcome.ok() ? ok_status() : Status(std::move(outcome).failure());
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 15); }

}  // namespace

// --- requests

void ModuleCrowd::send(const std::string& story, const std::function<Order()>& make) {
  const FaultMix& mix = world_.mix();
  if (random_.percent(mix.request_lost)) return verdict_.tell(story + " (request lost)");
  const bool twice = random_.percent(mix.request_doubled);
  const bool reply_lost = random_.percent(mix.reply_lost);
  verdict_.tell(story + (twice ? " (sent twice)" : reply_lost ? " (reply lost)" : ""));
  for (int i = twice ? 2 : 1; i > 0; --i) {
    Order order = make();
    if (reply_lost) order.done = nullptr;
    if (random_.percent(mix.request_late)) {
      on_the_way_.emplace_back(story, std::move(order));
    } else {
      post(story, std::move(order));
    }
  }
}

void ModuleCrowd::post(const std::string& story, Order order) {
  if (!world_.modules()->is_up()) return;
  WorldOrder given;
  given.alone = order.alone;
  given.work = std::move(order.work);
  given.done = [this, story, done = std::move(order.done)](const Status& outcome) {
    if (verdict_.failed()) return;
    if (!outcome.ok())
      return verdict_.tell("  refused: " + story + ": " + std::string(outcome.error().wire) + " " +
                           outcome.error().message);
    verdict_.tell("  done: " + story);
    if (done) done();
  };
  (void)world_.modules()->host().post(order.world, std::move(given)).ok();
}

void ModuleCrowd::deliver_late() {
  if (on_the_way_.empty()) return;
  std::swap(on_the_way_[random_.below(on_the_way_.size())], on_the_way_.back());
  auto [story, order] = std::move(on_the_way_.back());
  on_the_way_.pop_back();
  verdict_.tell(story + " (arrives late)");
  post(story, std::move(order));
}

std::string ModuleCrowd::draw_world() { return random_.pick(kWorldNames); }

Status ModuleCrowd::open_world(WorldSession& session) {
  if (!session.exists()) return Error{ErrorCode::NotFound, "there is no such world"};
  return worlds::writable(session.world().head());
}

// --- worlds

Result<worlds::ProgramText> ModuleCrowd::candidate(WorldSession& session, uint64_t number) {
  const RequestBody body(module_program(number));
  const json::View root = body.doc.root();
  PAWL_TRY(worlds::ProgramText text,
           worlds::read_program(
               root.find("manifest"), root.find("nodes"),
               [&](std::string_view hash) {
                 return session.exists() ? session.world().node(hash) : std::nullopt;
               },
               [&](std::string_view hash) {
                 return session.exists() ? session.world().blob(hash) : std::nullopt;
               },
               session.modules()));
  if (!text.faults.empty())
    verdict_.fail("crowd", "its manifest is refused: " + text.faults.front().path + " " +
                               text.faults.front().code + " " + text.faults.front().message);
  model().program_is(text.manifest_hash, number);
  return text;
}

void ModuleCrowd::create(const std::string& name) {
  const uint64_t number = random_.below(kModulePrograms);
  worlds::NewWorld made;
  made.name = name;
  made.created_ms = world_.now_ms();
  made.test = random_.percent(20);
  made.seed = "seed " + std::to_string(random_.below(4));
  made.test_now_ns = made.test ? world_.now_ms() * 1'000'000 : 0;
  send("create world " + name + (made.test ? " (test)" : ""), [&] {
    const uint64_t a = random_.next();  // a call that does not name an id gets its own
    made.id = Uuid::v7(world_.now_ms(), a, random_.next(), 0);
    Order order;
    order.world = name;
    order.alone = true;
    order.work = [this, made, number](WorldSession& session) -> Status {
      if (session.exists()) return Error{ErrorCode::Conflict, "there is one already"};
      PAWL_TRY(worlds::ProgramText text, candidate(session, number));
      session.create(
          made.id, [&](worlds::Deciding& deciding) { worlds::create_world(deciding, made, text); });
      OwnAdapter::make_keys(session, session.world().head(), nullptr);
      return ok_status();
    };
    order.done = [this, id = made.id] {
      const ModelWorld* known = model().find(id);
      verdict_.expect(known != nullptr && known->height > 0, "module acknowledged",
                      "a world was made and is not in the journal");
    };
    return order;
  });
}

void ModuleCrowd::remove() {
  const std::string name = draw_world();
  send("remove world " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [](WorldSession& session) -> Status {
      if (!session.exists()) return Error{ErrorCode::NotFound, "there is no such world"};
      session.remove_world();
      return ok_status();
    };
    return order;
  });
}

void ModuleCrowd::put_adapter(const std::string& world, const std::string& id, uint64_t kinds) {
  send("adapter " + id + " of " + world + " kinds " + std::to_string(kinds), [&] {
    Order order{.world = world, .work = {}, .done = {}};
    order.work = [this, id, kinds](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      worlds::Adapter adapter;
      adapter.hmac = true;
      adapter.key = secret_of(session.id(), id);
      adapter.only_kinds = kinds != 0;
      if (kinds == 1) adapter.kinds = {"sim.call"};
      if (kinds == 2) adapter.kinds = {"sim.call", "sim.guarded", "blob.put"};
      if (kinds == 3) adapter.kinds = {"job.run", "blob.get"};
      model().secret_of(session.id(), id, adapter.key);
      session.change_adapter(id, adapter);
      return ok_status();
    };
    return order;
  });
}

void ModuleCrowd::remove_adapter() {
  const std::string name = draw_world(), id = random_.pick(kAdapters);
  send("no adapter " + id + " of " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}};
    order.work = [id](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      if (!session.world().adapter(id)) return Error{ErrorCode::NotFound, "there is none"};
      session.change_adapter(id, std::nullopt);
      return ok_status();
    };
    return order;
  });
}

// --- events

std::string ModuleCrowd::draw_script(int depth) {
  std::string script;
  for (uint64_t left = random_.below(depth == 0 ? 4 : 3) + (depth == 0 ? 1 : 0); left > 0; --left) {
    const std::string_view letters = random_.percent(10) ? kBadLetters : kActLetters;
    const char act = letters[random_.below(letters.size())];
    if (act != 'd') {
      script += act;
      continue;
    }
    if (depth > 2) continue;
    script += 'd';
    script += static_cast<char>('a' + random_.below(3));
    script += "(" + draw_script(depth + 1) + ")";
  }
  if (depth == 0 && random_.below(300) == 0) script += random_.percent(50) ? 'd' : 'q';
  if (depth == 0 && random_.below(600) == 0) script = "da(!)";
  return script;
}

void ModuleCrowd::post_event() {
  Sent sent;
  const bool again = !sent_.empty() && random_.percent(25);
  if (again) {
    sent = random_.pick(sent_);
  } else {
    sent.world = draw_world();
    if (random_.percent(70)) sent.client = "client" + std::to_string(++serial_ % 200);
    const bool is_fan = random_.percent(20);
    std::string value = R"({"key":")" + std::string(1, static_cast<char>('a' + random_.below(5))) +
                        R"(","id":)" + std::to_string(random_.below(40)) + R"(,"script":")" +
                        draw_script(0) + "\"}";
    if (random_.percent(2)) value = R"({"key":"a","id":-1,"script":""})";
    sent.text = R"({"schema":")" + std::string(is_fan ? "sim/Fan@1" : "sim/Do@1") +
                R"(","value":)" + value + "}";
    if (sent_.size() >= kSentKept) sent_.erase(sent_.begin());
    sent_.push_back(sent);
  }
  send("event for " + sent.world + " " + sent.client + " " + sent.text, [&] {
    struct Seen {
      Uuid id;
      worlds::EventReply reply;
    };
    auto seen = std::make_shared<Seen>();
    auto body = std::make_shared<RequestBody>(sent.text);
    Order order{.world = sent.world, .work = {}, .done = {}};
    order.work = [seen, body, client = sent.client](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(auto program, session.program());
      worlds::GivenEvent given;
      given.schema = body->doc.root().find("schema")->string();
      given.value = body->doc.root().find("value");
      given.client_id = client;
      PAWL_TRY(worlds::Event event, worlds::judge_event(*program, given));
      seen->id = session.id();
      PAWL_TRY(seen->reply, session.frame([&](worlds::Deciding& deciding) {
        return worlds::post_event(deciding, event);
      }));
      return ok_status();
    };
    order.done = [this, seen, client = sent.client] {
      const ModelWorld* known = model().find(seen->id);
      const worlds::EventReply& reply = seen->reply;
      auto at = known == nullptr ? std::map<uint64_t, ModelEvent>::const_iterator()
                                 : known->events.find(reply.seq);
      if (known == nullptr || at == known->events.end() || at->second.hash != reply.event_hash ||
          at->second.client != client)
        return verdict_.fail("module acknowledged",
                             "event " + std::to_string(reply.seq) + " is not in the journal");
      if (!client.empty()) {
        auto [told, fresh] =
            acked_.emplace(std::pair(seen->id, client), std::pair(reply.seq, reply.event_hash));
        if (told->second != std::pair(reply.seq, reply.event_hash))
          return verdict_.fail("module client ids", client + " was acknowledged twice");
      }
      if (reply.duplicate) return verdict_.reach(Probe::ModuleEventRepeated);
      std::vector<ModulePlace> targets;
      for (const worlds::Delivery& each : reply.deliveries)
        targets.emplace_back(each.module, each.key.value_or(""));
      verdict_.expect(targets == at->second.targets, "module deliveries",
                      "the reply lists other deliveries");
    };
    return order;
  });
}

// --- adapters

void ModuleCrowd::lease() {
  const std::string name = draw_world(), adapter = random_.pick(kAdapters);
  lease_from(name, adapter, 1 + random_.below(6), random_.between(1, 20'000),
             random_.percent(30) ? random_.between(1, 20'000) : 0);
}

void ModuleCrowd::lease_from(const std::string& world, const std::string& adapter, size_t limit,
                             int64_t lease_ms, int64_t wait_ms) {
  LeaseOrder lease;
  lease.adapter = adapter;
  lease.kinds = kLeasedKinds;
  lease.limit = limit;
  lease.lease_ms = lease_ms;
  lease.wait_ms = wait_ms;
  const ModelWorld* known = model().named(world);
  const uint64_t height = known == nullptr ? 0 : known->height;
  const uint64_t life = world_.modules()->life();
  send("lease of " + world + " by " + adapter, [&] {
    Order order{.world = world, .work = {}, .done = {}};
    order.work = [adapter](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      if (adapter == kOwnAdapter || !session.world().adapter(adapter))
        return Error{ErrorCode::Forbidden, "no such adapter"};
      return ok_status();
    };
    order.done = [this, lease, world, height, life] {
      if (!world_.modules()->is_up() || life != world_.modules()->life()) return;
      world_.modules()->host().lease(
          world, lease,
          [this, world, lease, height](Result<std::vector<std::string>> hashes, int64_t until_ms) {
            if (!hashes.ok() || hashes->empty() || verdict_.failed()) return;
            for (const std::string& hash : *hashes) {
              if (!model().knows_intent(hash))
                return verdict_.fail("module lease",
                                     short_hash(hash) + " was leased before its frame was durable");
              LeasedUntil& last = leased_[{model().id_of(world), hash}];
              if (last.life == world_.modules()->life() &&
                  last.until_ms > world_.modules()->latest_ms())
                return verdict_.fail("module lease",
                                     short_hash(hash) + " is leased to two adapters at once");
              last = {until_ms, world_.modules()->life()};
            }
            take_leased(world, lease.adapter, height, std::move(*hashes));
          });
    };
    return order;
  });
}

// As the API: what was leased is read once more, and handed over if it is still open.
void ModuleCrowd::take_leased(const std::string& world, const std::string& adapter, uint64_t height,
                              std::vector<std::string> hashes) {
  auto found = std::make_shared<std::vector<Lease>>();
  Order order{.world = world, .work = {}, .done = {}};
  order.work = [found, hashes = std::move(hashes), world,
                adapter](WorldSession& session) -> Status {
    found->clear();
    PAWL_TRY_DO(open_world(session));
    for (const std::string& hash : hashes) {
      auto intent = session.world().intent(hash);
      if (!intent || intent->settlement != worlds::Settlement::Open) continue;
      found->push_back({world, adapter, hash, intent->kind, session.id()});
    }
    return ok_status();
  };
  order.done = [this, found, height] {
    for (const Lease& lease : *found) {
      const ModelWorld* known = model().find(lease.id);
      auto at = known->intents.find(lease.hash);
      const bool was_settled = at != known->intents.end() &&
                               at->second.state != IntentState::Open &&
                               at->second.settled_seq <= height && !known->name.empty();
      if (was_settled)
        return verdict_.fail("module lease", short_hash(lease.hash) + " was leased after its end");
      verdict_.reach(Probe::ModuleLeased);
      held_.push_back(lease);
    }
  };
  post("hand over", std::move(order));
}

worlds::GivenReceipt ModuleCrowd::draw_receipt(const Lease& lease, bool fine) {
  worlds::GivenReceipt receipt;
  receipt.intent_hash = lease.hash;
  receipt.adapter_id = lease.adapter;
  const uint64_t how = random_.below(100);
  const bool ours = lease.kind.starts_with("sim.");
  receipt.status = ours && (fine || how < 60) ? "ok" : how < 85 ? "error" : "timeout";
  if (receipt.status == "ok") {
    receipt.payload = plain_head(5, 1) + plain_text("echo") + plain_nat(random_.below(1'000));
    if (random_.percent(30)) receipt.payload = with_long_head(receipt.payload);
  } else {
    receipt.payload = plain_head(5, 2) + plain_text("code") + plain_text("sim") +
                      plain_text("message") + plain_text("as drawn");
  }
  if (random_.percent(30)) receipt.cost_cents = static_cast<int64_t>(random_.below(90));
  if (!fine && random_.percent(6))
    receipt.payload = plain_head(5, 1) + plain_text("e") + plain_nat(1);
  receipt.signature = sign(secret_of(lease.id, lease.adapter), lease.id, receipt);
  if (fine || !random_.percent(8)) return receipt;
  switch (random_.below(4)) {  // a forgery
    case 0:
      receipt.signature[0] ^= 1;
      break;
    case 1:
      receipt.payload += '\x01';
      break;
    case 2:
      receipt.signature = sign(secret_of(lease.id, "adX"), lease.id, receipt);
      break;
    default:
      receipt.signature = sign(secret_of(lease.id, lease.adapter), Uuid{1, 2}, receipt);
  }
  return receipt;
}

void ModuleCrowd::settle() {
  if (held_.empty() && past_.empty()) return;
  const bool late = held_.empty() || (!past_.empty() && random_.percent(20));
  std::vector<Lease>& from = late ? past_ : held_;
  const size_t index = random_.below(from.size());
  Lease lease = from[index];
  if (!late && random_.percent(90)) {
    if (past_.size() >= kLeasesKept) past_.erase(past_.begin());
    past_.push_back(lease);
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(index));
  }
  if (random_.percent(4)) lease.world = draw_world();
  if (random_.percent(4)) lease.adapter = random_.pick(kAdapters);
  if (random_.percent(2)) lease.hash = plain_hash_of_bytes(std::to_string(random_.next()));
  settle_one(lease, false);
}

void ModuleCrowd::settle_one(const Lease& lease, bool fine) {
  const worlds::GivenReceipt receipt = draw_receipt(lease, fine);
  send("receipt " + receipt.status + " of " + short_hash(lease.hash) + " by " + lease.adapter, [&] {
    struct Seen {
      Uuid id;
      worlds::ReceiptReply reply;
    };
    auto seen = std::make_shared<Seen>();
    Order order{.world = lease.world, .work = {}, .done = {}};
    order.work = [this, seen, receipt](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(auto program, session.program());
      const auto adapter = session.world().adapter(receipt.adapter_id);
      Status judged =
          worlds::judge_receipt(session.world(), *program, receipt, adapter ? &*adapter : nullptr,
                                adapter ? adapter->key : "");
      if (!judged.ok() && judged.error().wire == "receipt.bad_signature") {
        verdict_.reach(Probe::ModuleForgeryRefused);
        if (world_.plants().receipt_unverified) judged = ok_status();
      }
      PAWL_TRY_DO(judged);
      seen->id = session.id();
      PAWL_TRY(seen->reply, session.frame([&](worlds::Deciding& deciding) {
        return worlds::take_receipt(deciding, receipt);
      }));
      return ok_status();
    };
    order.done = [this, seen, hash = receipt.intent_hash] {
      check_settled(seen->id, hash, seen->reply);
    };
    return order;
  });
}

void ModuleCrowd::check_settled(const Uuid& id, const std::string& hash,
                                const worlds::ReceiptReply& reply) {
  const ModelWorld* known = model().find(id);
  auto at = known->intents.find(hash);
  if (at == known->intents.end()) {
    verdict_.expect(known->forgotten.count(hash) != 0, "module acknowledged",
                    "a receipt of an intent that was never there was taken");
    return;
  }
  const ModelIntent& intent = at->second;
  if (intent.state == IntentState::Open)
    return verdict_.fail("module acknowledged", "a receipt was taken, and its intent is open");
  if (reply.outcome == worlds::ReceiptOutcome::Duplicate)
    return verdict_.reach(Probe::ModuleReceiptRepeated);
  verdict_.expect(intent.state == IntentState::Settled && intent.settled_seq == reply.seq,
                  "module acknowledged", "a receipt was taken in another frame");
  verdict_.reach(Probe::ModuleSettled);
}

// --- operators

void ModuleCrowd::about_an_instance(bool retry) {
  const auto& runs = model().runs();
  if (runs.empty()) return;
  auto at = runs.begin();
  std::advance(at, static_cast<ptrdiff_t>(random_.below(runs.size())));
  for (size_t i = 0; retry && i < runs.size() && at->second.to != InstanceState::Failed; ++i)
    if (++at == runs.end()) at = runs.begin();
  const InstanceMoved& run = at->second;
  send(std::string(retry ? "retry " : "cancel ") + run.module + " of " + run.world_name, [&] {
    struct Seen {
      Uuid id;
      ModulePlace place;
      uint64_t seq = 0;
      std::string value;
    };
    auto seen = std::make_shared<Seen>();
    Order order{.world = run.world_name, .work = {}, .done = {}};
    order.work = [this, seen, retry, id = run.run](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      auto place = session.place_of(id);
      if (!place) return Error{ErrorCode::NotFound, "there is no such run"};
      auto& calls = world_.modules()->code().calls;
      calls.clear();
      PAWL_TRY_DO(session.frame([&](worlds::Deciding& deciding) {
        return retry ? worlds::retry_instance(deciding, place->first, place->second)
                     : worlds::terminate_instance(deciding, place->first, place->second);
      }));
      seen->id = session.id();
      seen->place = *place;
      seen->seq = session.world().head().height;
      seen->value = calls.empty() ? "" : calls.front().value;
      return ok_status();
    };
    order.done = [this, seen, retry] {
      const ModelWorld* known = model().find(seen->id);
      auto of = known->instances.find(seen->place);
      if (!retry || of == known->instances.end() || of->second.retried_seq != seen->seq) return;
      const ModelInstance& instance = of->second;
      const std::string& wanted =
          instance.retried_value.empty() ? instance.retried_intent : instance.retried_value;
      verdict_.expect(seen->value.find(wanted) != std::string::npos, "module retry",
                      "another input than the one that failed was delivered again");
    };
    return order;
  });
}

void ModuleCrowd::system_effect() {
  const bool timer = random_.percent(30);
  const std::string kind = timer ? "timer.set" : random_.percent(20) ? "sim.denied" : "sim.call";
  const int64_t at_ns = (world_.now_ms() + random_.between(-500, 5'000)) * 1'000'000;
  const std::string params = timer
                                 ? R"({"deliver_at_ns":)" + std::to_string(at_ns) + "}"
                                 : R"({"key":"s","id":)" + std::to_string(++serial_) + R"(,"n":0})";
  const std::string name = draw_world();
  send("effect " + kind + " of the operator in " + name, [&] {
    struct Seen {
      Uuid id;
      worlds::EmittedEffect effect;
    };
    auto seen = std::make_shared<Seen>();
    auto body = std::make_shared<RequestBody>(params);
    Order order{.world = name, .work = {}, .done = {}};
    order.work = [seen, body, kind, timer](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(seen->effect, session.frame([&](worlds::Deciding& deciding) {
        return worlds::emit_system_effect(deciding, kind, body->doc.root(),
                                          timer ? "g_timer" : "g_sim");
      }));
      seen->id = session.id();
      return ok_status();
    };
    order.done = [this, seen] {
      const ModelWorld* known = model().find(seen->id);
      const std::string& hash = seen->effect.intent_hash;
      verdict_.expect(known->intents.count(hash) + known->forgotten.count(hash) == 1,
                      "module acknowledged", "an operator's effect is not in the journal");
    };
    return order;
  });
}

void ModuleCrowd::propose() {
  const uint64_t number = random_.below(kModulePrograms);
  const bool based = random_.percent(30);
  const std::string name = draw_world();
  const ModelWorld* known = model().named(name);
  const std::string base = based && known != nullptr ? known->manifest_hash : "";
  send("propose program " + std::to_string(number) + " to " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, number, base](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(worlds::ProgramText text, candidate(session, number));
      return to_status(session.frame([&](worlds::Deciding& deciding) {
        return worlds::propose(deciding, text, base.empty() ? std::nullopt : std::optional(base),
                               "drawn");
      }));
    };
    return order;
  });
}

void ModuleCrowd::about_a_proposal() {
  const std::string name = draw_world();
  const ModelWorld* known = model().named(name);
  if (known == nullptr || known->proposals.empty()) return propose();
  auto at = known->proposals.begin();
  std::advance(at, static_cast<ptrdiff_t>(random_.below(known->proposals.size())));
  if (random_.percent(60)) at = std::prev(known->proposals.end());
  const std::string id = "p" + std::to_string(at->first);
  static constexpr std::string_view kVerbs[] = {"shadow", "shadow", "approve", "approve",
                                                "apply",  "apply",  "reject"};
  const std::string verb(kVerbs[random_.below(std::size(kVerbs))]);
  const uint64_t height = known->height;
  const std::optional<uint64_t> from =
      random_.percent(50) ? std::optional(1 + random_.below(height + 1)) : std::nullopt;
  auto body = std::make_shared<RequestBody>(
      R"({"schema":"sim/Do@1","value":{"key":"a","id":3,"script":")" + draw_script(0) + "\"}}");
  send(verb + " " + id + " of " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, id, verb, from, body](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      if (verb == "approve" || verb == "reject")
        return to_status(session.frame([&](worlds::Deciding& deciding) {
          return verb == "approve" ? worlds::approve(deciding, id) : worlds::reject(deciding, id);
        }));
      PAWL_TRY(worlds::Proposal proposal, worlds::named_proposal(session.world(), id));
      PAWL_TRY(auto program,
               worlds::load_program(proposal.manifest_hash, [&](std::string_view hash) {
                 return session.world().node(hash);
               }));
      if (verb == "apply") {
        const worlds::QueuedWork queued{world_.modules()->host().queued(session)};
        return to_status(session.frame([&](worlds::Deciding& deciding) {
          return worlds::apply_program(deciding, id, program, queued);
        }));
      }
      worlds::ShadowOrder shadow;
      shadow.proposal_id = id;
      shadow.from_seq = from;
      worlds::GivenEvent event;
      event.schema = "sim/Do@1";
      event.value = body->doc.root().find("value");
      shadow.events.push_back(event);
      NativeModules& code = world_.modules()->code();
      code.is_replay = true;
      auto shadowed = session.frame(
          [&](worlds::Deciding& deciding) { return worlds::shadow(deciding, shadow, program); });
      code.is_replay = false;
      return to_status(shadowed);
    };
    return order;
  });
}

void ModuleCrowd::apply_directly() {
  const std::string name = draw_world();
  const uint64_t number = random_.below(kModulePrograms);
  send("apply program " + std::to_string(number) + " to " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, number](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(worlds::ProgramText text, candidate(session, number));
      const worlds::QueuedWork queued{world_.modules()->host().queued(session)};
      return to_status(session.frame([&](worlds::Deciding& deciding) {
        worlds::keep_program_text(deciding.world(), deciding.writes(), text);
        return worlds::apply_program(deciding, "", text.program, queued);
      }));
    };
    return order;
  });
}

void ModuleCrowd::snapshot() {
  const std::string name = draw_world();
  send("snapshot of " + name, [&] {
    struct Seen {
      worlds::Snapshot snapshot;
    };
    auto seen = std::make_shared<Seen>();
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, seen](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(seen->snapshot,
               session.frame([](worlds::Deciding& deciding) -> Result<worlds::Snapshot> {
                 return worlds::take_snapshot(deciding);
               }));
      PlainItem item;
      const auto blob = session.world().blob(seen->snapshot.ref);
      verdict_.expect(
          blob && read_plain(*blob, item) && plain_hash_of_bytes(*blob) == seen->snapshot.ref,
          "module canonical", "a snapshot is not in canonical form");
      verdict_.reach(Probe::ModuleSnapshot);
      return ok_status();
    };
    return order;
  });
}

void ModuleCrowd::replay() {
  const std::string name = draw_world();
  const bool genesis = random_.percent(60);
  send("replay " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, genesis](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      NativeModules& code = world_.modules()->code();
      code.is_replay = true;
      auto replayed =
          worlds::replay(session.world(), session.modules(),
                         genesis ? worlds::ReplayFrom::Genesis : worlds::ReplayFrom::Baseline,
                         [] { return true; });
      code.is_replay = false;
      if (!replayed.ok()) {
        const std::string wire(replayed.error().wire);
        const Error damage{ErrorCode::Corrupt, replayed.error().message};
        if (wire == "replay.divergence" ||
            (wire == "journal.corrupt" && !world_.damage_found(damage)))
          verdict_.fail("module replay", wire + ": " + replayed.error().message);
        return replayed.error();
      }
      verdict_.reach(Probe::ModuleReplayed);
      verdict_.expect(replayed->digest == worlds::digest_of(session.world()), "module replay",
                      "the replay comes to another digest");
      return ok_status();
    };
    return order;
  });
}

void ModuleCrowd::move_test_clock(const std::string& name, int64_t by_ms) {
  send("test clock of " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [by_ms](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      worlds::Head head = session.world().head();
      if (!head.test) return Error{ErrorCode::Conflict, "not a test world"};
      const int64_t now_ns = head.test_now_ns + by_ms * 1'000'000;
      PAWL_TRY(uint64_t fired, OwnAdapter::fire_until(session, nullptr, now_ns));
      (void)fired;
      head = session.world().head();
      head.test_now_ns = now_ns;
      session.put(worlds::head_key(), codec::encoded(head));
      return ok_status();
    };
    return order;
  });
}

void ModuleCrowd::trouble() {
  const bool timeout = random_.percent(50);
  verdict_.tell(timeout ? "a call will take too long" : "a call will find no runtime");
  world_.modules()->code().next =
      timeout ? NativeModules::Trouble::Timeout : NativeModules::Trouble::Unavailable;
}

// --- what they do

void ModuleCrowd::act() {
  if (!world_.modules()->is_up()) return;
  if (random_.percent(5)) return deliver_late();
  for (const std::string& name : kWorldNames)
    if (model().named(name) == nullptr && random_.percent(25)) return create(name);
  const uint64_t what = random_.below(100);
  if (what < 30) return post_event();
  if (what < 42) return lease();
  if (what < 62) return settle();
  if (what < 66) return put_adapter(draw_world(), random_.pick(kAdapters), random_.below(5) % 4);
  if (what < 67) return remove_adapter();
  if (what < 71) return about_an_instance(false);
  if (what < 77) return about_an_instance(true);
  if (what < 81) return system_effect();
  if (what < 83) return propose();
  if (what < 88) return about_a_proposal();
  if (what < 90) return apply_directly();
  if (what < 92) return snapshot();
  if (what < 94) return replay();
  if (what < 96) return move_test_clock(draw_world(), random_.between(0, 3'000));
  if (what < 97) return create(draw_world());
  if (what < 98) return trouble();
  if (random_.percent(30)) remove();
}

void ModuleCrowd::work_off() {
  if (!world_.modules()->is_up()) return;
  world_.modules()->code().next = NativeModules::Trouble::None;
  while (!on_the_way_.empty()) on_the_way_.pop_back();
  for (const std::string& name : kWorldNames) {
    const ModelWorld* known = model().named(name);
    if (known == nullptr || known->open() == 0) continue;
    for (const std::string& adapter : kAdapters) {
      put_adapter(name, adapter, adapter == "ad1" ? 0 : adapter == "ad2" ? 2 : 3);
      lease_from(name, adapter, 100, 60'000, 0);
    }
    move_test_clock(name, 60'000);
  }
  std::vector<Lease> leases = std::move(held_);
  held_.clear();
  for (const Lease& lease : leases) settle_one(lease, true);
}

}  // namespace pawl::sim
