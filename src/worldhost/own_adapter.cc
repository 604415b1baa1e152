#include "worldhost/own_adapter.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "base/log.h"
#include "worldhost/own_keys.h"
#include "worldhost/own_work.h"
#include "worlds/frame.h"
#include "worlds/hash.h"

namespace pawl {
namespace {

constexpr size_t kTimersPerOrder = 64;
constexpr size_t kBlobsPerOrder = 1'024;
constexpr std::string_view kKeyItem = "x";  // the private seed, sealed where the server has a vault
constexpr char kPlain = 'P';
constexpr char kSealed = 'S';

using worlds::cbor::Item;

std::string vault_name(const Uuid& world) { return "world/" + world.text(); }

Result<std::string> own_seed(WorldSession& session, const actions::Vault* vault) {
  const auto kept = session.table().get(kKeyItem);
  if (!kept || kept->empty()) return Error{ErrorCode::Corrupt, "the world has no key of its own"};
  if (kept->front() == kPlain) return kept->substr(1);
  if (vault == nullptr) return Error{ErrorCode::Unavailable, "the world's key needs the vault"};
  return vault->unseal(vault_name(session.id()), std::string_view(*kept).substr(1));
}

OwnReceipt ok_receipt(FunctionRef<void(worlds::cbor::Map&)> fill) {
  OwnReceipt receipt;
  worlds::cbor::Map map(receipt.payload);
  fill(map);
  map.end();
  return receipt;
}

bool passes(const Error& error) {
  return error.code == ErrorCode::StoreFailed || error.code == ErrorCode::Overloaded ||
         error.code == ErrorCode::RateLimited || error.code == ErrorCode::Unavailable;
}

// A timer's key is given back as it came.
OwnReceipt timer_receipt(const worlds::Intent& intent, int64_t delivered_ns) {
  auto params = worlds::cbor::read(intent.params);
  return ok_receipt([&](worlds::cbor::Map& map) {
    map.integer("delivered_at_ns", delivered_ns);
    const Item* key = params.ok() ? params->find("key") : nullptr;
    if (key == nullptr || !key->is_text()) {
      map.null("key");
    } else {
      map.text("key", key->string);
    }
  });
}

OwnReceipt put_blob(WorldSession& session, std::string_view bytes) {
  const std::string ref = worlds::hash_of_bytes(bytes);
  session.put(worlds::blob_key(ref), std::string(bytes));
  return ok_receipt(
      [&](worlds::cbor::Map& map) { map.text("blob_ref", ref).nat("size", bytes.size()); });
}

OwnReceipt get_blob(WorldSession& session, std::string_view ref) {
  const auto bytes = session.world().blob(ref);
  if (!bytes) return failed_receipt("blob.not_found", "there is no blob of this hash");
  return ok_receipt(
      [&](worlds::cbor::Map& map) { map.bytes("bytes", *bytes).nat("size", bytes->size()); });
}

std::string_view member(const Item& params, std::string_view name) {
  const Item* found = params.find(name);
  return found == nullptr ? std::string_view() : found->string;
}

bool is_blob_kind(std::string_view kind) { return kind == "blob.put" || kind == "blob.get"; }

Status settle_blob(WorldSession& session, const actions::Vault* vault, const std::string& hash,
                   const worlds::Intent& intent) {
  auto params = worlds::cbor::read(intent.params);
  PAWL_TRY_DO(params);
  const OwnReceipt receipt = intent.kind == "blob.put"
                                 ? put_blob(session, member(*params, "bytes"))
                                 : get_blob(session, member(*params, "blob_ref"));
  return settle_own(session, vault, hash, receipt);
}

// As Outbox::is_own, which knows only what is durable.
bool is_taken_over(WorldSession& session, const std::string& kind) {
  bool found = false;
  session.table().scan(worlds::adapter_key(""), "", [&](std::string_view, std::string_view value) {
    worlds::Adapter adapter;
    found = codec::decode(value, adapter) && adapter.only_kinds &&
            std::find(adapter.kinds.begin(), adapter.kinds.end(), kind) != adapter.kinds.end();
    return !found;
  });
  return found;
}

}  // namespace

OwnReceipt failed_receipt(std::string_view code, std::string_view message) {
  OwnReceipt receipt =
      ok_receipt([&](worlds::cbor::Map& map) { map.text("code", code).text("message", message); });
  receipt.status = "error";
  return receipt;
}

Status settle_own(WorldSession& session, const actions::Vault* vault, const std::string& hash,
                  const OwnReceipt& receipt, int64_t clock_ns) {
  PAWL_TRY_DO(worlds::writable(session.world().head()));
  PAWL_TRY(std::string seed, own_seed(session, vault));
  worlds::GivenReceipt given;
  given.intent_hash = hash;
  given.adapter_id = kOwnAdapter;
  given.status = receipt.status;
  given.payload = receipt.payload;
  given.signature = sign_with(seed, worlds::receipt_message(session.id(), given));
  auto taken = session.frame(
      [&](worlds::Deciding& deciding) { return worlds::take_receipt(deciding, given); }, clock_ns);
  PAWL_TRY_DO(taken);
  return ok_status();
}

void OwnAdapter::make_keys(WorldSession& session, const worlds::Head& head,
                           const actions::Vault* vault) {
  const std::string seed = new_own_seed(session, head);
  session.put(kKeyItem, vault == nullptr ? kPlain + seed
                                         : kSealed + vault->seal(vault_name(session.id()), seed));
  worlds::Adapter own;
  own.key = public_key_of(seed);
  own.only_kinds = true;  // others may take its kinds over: see Outbox::is_own
  session.put(worlds::adapter_key(kOwnAdapter), codec::encoded(own));
}

OwnAdapter::OwnAdapter(WorldHost& host, const actions::ActionPolicy& policy,
                       const actions::Vault* vault, SendRequest send)
    : host_(host),
      policy_(policy),
      vault_(vault),
      secrets_(host.line(), vault),
      http_(send ? nullptr : std::make_unique<actions::HttpClient>()),
      send_(send ? std::move(send)
                 : [client = http_.get()](actions::HttpRequest request,
                                          actions::HttpClient::Done done) {
                     client->send(std::move(request), std::move(done));
                   }) {}

OwnAdapter::~OwnAdapter() { stop(); }

void OwnAdapter::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  awaited_.clear();
}

// --- performing

void OwnAdapter::perform(const std::string& world, const OpenIntent& open) {
  struct Found {
    Uuid world;
    std::optional<worlds::Intent> intent;
    std::string params;               // with its secrets
    std::optional<OwnReceipt> fault;  // they cannot be had
  };
  auto found = std::make_shared<Found>();
  WorldOrder order;
  order.work = [this, found, hash = open.hash](WorldSession& session) -> Status {
    *found = {};
    if (!session.exists() || !worlds::writable(session.world().head()).ok()) return ok_status();
    auto intent = session.world().intent(hash);
    if (!intent || intent->settlement != worlds::Settlement::Open) return ok_status();
    if (is_blob_kind(intent->kind)) return settle_blob(session, vault_, hash, *intent);
    PAWL_TRY(auto program, session.program());
    const worlds::Effect* effect = program->effect(intent->kind);
    auto params = effect == nullptr ? Result<std::string>(intent->params)
                                    : secrets_.open(*program, *effect->params_type, intent->params);
    if (!params.ok()) {
      found->fault =
          failed_receipt(intent->kind == "http.request" ? "http.failed" : "secret.unavailable",
                         params.error().message);
    } else {
      found->params = std::move(params).value();
    }
    found->world = session.id();
    found->intent = std::move(intent);
    return ok_status();
  };
  order.done = [this, found, world, hash = open.hash](const Status& outcome) {
    if (!outcome.ok()) return host_.give_up(world, hash);
    if (!found->intent) return;
    if (found->fault) return settle(world, hash, std::move(*found->fault));
    if (found->intent->kind == "http.request")
      return send_request(world, hash, *found->intent, found->params);
    start_work(world, id_of_work(found->world, *found->intent, hash, host_.partition()), hash, *found->intent);
  };
  if (!host_.post(world, std::move(order)).ok()) host_.give_up(world, open.hash);
}

void OwnAdapter::settle_within(WorldSession& session, size_t opened_before) {
  size_t settled = 0;
  // The receipts' steps may ask for more.
  for (size_t i = opened_before; i < session.opened().size() && settled < kBlobsPerOrder; ++i) {
    const OpenIntent open = session.opened()[i];
    if (!is_blob_kind(open.kind) || is_taken_over(session, open.kind)) continue;
    auto intent = session.world().intent(open.hash);
    if (!intent || intent->settlement != worlds::Settlement::Open) continue;
    // What cannot be settled now stays open, for perform().
    if (!settle_blob(session, vault_, open.hash, *intent).ok()) return;
    ++settled;
  }
}

void OwnAdapter::settle(const std::string& world, const std::string& hash, OwnReceipt receipt) {
  auto kept = std::make_shared<OwnReceipt>(std::move(receipt));
  WorldOrder order;
  order.work = [this, kept, hash](WorldSession& session) -> Status {
    return session.exists() ? settle_own(session, vault_, hash, *kept) : ok_status();
  };
  order.done = [this, kept, world, hash](const Status& outcome) {
    if (outcome.ok()) return;
    // A refusal of the world (quarantined) is final; the engine's and the runtime's pass, and the
    // effect must not be done twice.
    if (passes(outcome.error()))
      host_.later([this, kept, world, hash] { settle(world, hash, *kept); });
  };
  if (!host_.post(world, std::move(order)).ok())
    host_.later([this, kept, world, hash] { settle(world, hash, *kept); });
}

void OwnAdapter::send_request(const std::string& world, const std::string& hash,
                              const worlds::Intent& full, const std::string& params) {
  auto request = own_request(full, params, policy_);
  if (!request.ok())
    return settle(world, hash, failed_receipt("http.failed", request.error().message));
  send_(std::move(*request), [this, world, hash](Result<actions::HttpResponse> result) {
    settle(world, hash, receipt_of_response(std::move(result)));
  });
}

// --- jobs and runs

void OwnAdapter::start_work(const std::string& world, const Uuid& id, const std::string& hash,
                            const worlds::Intent& full) {
  const bool is_job = full.kind == "job.run";
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    awaited_[id] = {world, hash, is_job};
  }
  auto seen = [this, world, hash, id](Result<WorkState> state) {
    if (!state.ok()) {  // the engine's refusal passes
      {
        std::lock_guard lock(mutex_);
        awaited_.erase(id);
      }
      return host_.give_up(world, hash);
    }
    if (!state->over) return;
    {
      std::lock_guard lock(mutex_);
      if (awaited_.erase(id) == 0) return;
    }
    settle(world, hash, std::move(state->receipt));
  };
  start_own_work(host_.line(), world, id, full, hash, std::move(seen));
}

void OwnAdapter::follow(std::string_view record) {
  std::vector<std::pair<Uuid, Awaited>> ended;
  {
    std::lock_guard lock(mutex_);
    if (awaited_.empty() || !may_hold_ends(record)) return;
    each_ended(record, [&](const Uuid& id) {
      auto at = awaited_.find(id);
      if (at != awaited_.end()) ended.emplace_back(id, at->second);
    });
  }
  for (const auto& [id, awaited] : ended) look_again(id, awaited);
}

// Its end is in the journal; a refusal to look at it passes.
void OwnAdapter::look_again(const Uuid& id, const Awaited& to) {
  look_at_work(host_.line(), id, to.is_job, [this, id, to](Result<WorkState> state) {
    if (!state.ok()) return host_.later([this, id, to] { look_again(id, to); });
    if (!state->over) return;
    {
      std::lock_guard lock(mutex_);
      if (awaited_.erase(id) == 0) return;
    }
    settle(to.world, to.intent, std::move(state->receipt));
  });
}

// --- timers

void OwnAdapter::fire_timers(const std::string& world) {
  WorldOrder order;
  order.work = [this](WorldSession& session) -> Status {
    if (!session.exists()) return ok_status();
    const int64_t now_ns = session.now_ms() * 1'000'000;
    for (const std::string& hash : host_.due_timers(session.name(), now_ns, kTimersPerOrder)) {
      auto intent = session.world().intent(hash);
      if (!intent || intent->settlement != worlds::Settlement::Open) continue;
      PAWL_TRY_DO(settle_own(session, vault_, hash, timer_receipt(*intent, now_ns)));
    }
    return ok_status();
  };
  order.done = [this, world](const Status& outcome) {
    if (outcome.ok()) return host_.timers_fired(world);
    // Those of a quarantined world fire no more.
    if (passes(outcome.error())) host_.later([this, world] { host_.timers_fired(world); });
  };
  if (!host_.post(world, std::move(order)).ok())
    host_.later([this, world] { host_.timers_fired(world); });
}

// By deadline, then by hash; what a timer brings about may set timers that are due as well.
Result<uint64_t> OwnAdapter::fire_until(WorldSession& session, const actions::Vault* vault,
                                        int64_t now_ns) {
  std::set<std::pair<int64_t, std::string>> due;
  auto consider = [&](const std::string& hash, std::string_view kind, int64_t deadline_ns) {
    if (kind == "timer.set" && deadline_ns <= now_ns) due.emplace(deadline_ns, hash);
  };
  session.world().each_open(
      "", [&](std::string_view, const std::string& hash, const worlds::Intent& intent) {
        consider(hash, intent.kind, intent.deliver_at_ns);
        return true;
      });
  uint64_t fired = 0;
  while (!due.empty()) {
    const auto [deadline_ns, hash] = *due.begin();
    due.erase(due.begin());
    auto intent = session.world().intent(hash);
    if (!intent || intent->settlement != worlds::Settlement::Open) continue;  // dropped meanwhile
    const size_t opened_before = session.opened().size();
    const int64_t clock_ns = std::max(deadline_ns, session.world().head().test_now_ns);
    PAWL_TRY_DO(settle_own(session, vault, hash, timer_receipt(*intent, clock_ns), clock_ns));
    ++fired;
    for (size_t i = opened_before; i < session.opened().size(); ++i) {
      const OpenIntent& opened = session.opened()[i];
      consider(opened.hash, opened.kind, opened.deliver_at_ns);
    }
  }
  return fired;
}

}  // namespace pawl
