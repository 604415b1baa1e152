#include "sim/module_adapters.h"

#include "base/hash.h"
#include "base/plant.h"
#include "worldhost/own_keys.h"
#include "worlds/frame.h"

namespace pawl::sim {
namespace {

const std::vector<std::string> kAdapters = {"ad1", "ad2", "ad3"};
const std::vector<std::string> kLeasedKinds = {"sim.call", "sim.guarded", "sim.denied",
                                               "blob.put", "blob.get",    "job.run"};
constexpr size_t kLeasesKept = 60;

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

std::string short_hash(const std::string& hash) { return hash.substr(0, 15); }

}  // namespace

// --- which there are

void ModuleAdapters::put() {
  put_adapter(draw_world(), random_.pick(kAdapters), random_.below(5) % 4);
}

void ModuleAdapters::put_adapter(const std::string& world, const std::string& id, uint64_t kinds) {
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

void ModuleAdapters::remove() {
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

// --- leases

void ModuleAdapters::lease() {
  const std::string name = draw_world(), adapter = random_.pick(kAdapters);
  lease_from(name, adapter, 1 + random_.below(6), random_.between(1, 20'000),
             random_.percent(30) ? random_.between(1, 20'000) : 0);
}

void ModuleAdapters::lease_from(const std::string& world, const std::string& adapter, size_t limit,
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
void ModuleAdapters::take_leased(const std::string& world, const std::string& adapter,
                                 uint64_t height, std::vector<std::string> hashes) {
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
  requests_.post("hand over", std::move(order));
}

void ModuleAdapters::lease_all(const std::string& world) {
  for (const std::string& adapter : kAdapters) {
    put_adapter(world, adapter, adapter == "ad1" ? 0 : adapter == "ad2" ? 2 : 3);
    lease_from(world, adapter, 100, 60'000, 0);
  }
}

// --- receipts

worlds::GivenReceipt ModuleAdapters::draw_receipt(const Lease& lease, bool fine) {
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

void ModuleAdapters::settle() {
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

void ModuleAdapters::settle_one(const Lease& lease, bool fine) {
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

void ModuleAdapters::check_settled(const Uuid& id, const std::string& hash,
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

void ModuleAdapters::settle_all() {
  std::vector<Lease> leases = std::move(held_);
  held_.clear();
  for (const Lease& lease : leases) settle_one(lease, true);
}

}  // namespace pawl::sim
