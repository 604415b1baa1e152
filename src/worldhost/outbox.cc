#include "worldhost/outbox.h"

#include <algorithm>

#include "base/plant.h"

namespace pawl {
namespace {

constexpr std::string_view kTimer = "timer.set";
constexpr std::string_view kBuiltIn[] = {kTimer,         "blob.put", "blob.get",
                                         "http.request", "job.run",  "run.start"};

}  // namespace

bool Outbox::is_built_in(std::string_view kind) {
  return std::find(std::begin(kBuiltIn), std::end(kBuiltIn), kind) != std::end(kBuiltIn);
}

bool Outbox::is_own(const std::string& kind) const {
  if (kind == kTimer) return true;
  if (!is_built_in(kind)) return false;
  return std::none_of(adapters_.begin(), adapters_.end(), [&](const auto& each) {
    const worlds::Adapter& adapter = each.second;
    return adapter.only_kinds &&
           std::find(adapter.kinds.begin(), adapter.kinds.end(), kind) != adapter.kinds.end();
  });
}

bool Outbox::may_take(const std::string& id, const std::string& kind) const {
  auto at = adapters_.find(id);
  if (at == adapters_.end() || kind == kTimer) return false;
  const worlds::Adapter& adapter = at->second;
  if (!adapter.only_kinds) return !is_built_in(kind);
  return std::find(adapter.kinds.begin(), adapter.kinds.end(), kind) != adapter.kinds.end();
}

void Outbox::put_adapter(const std::string& id, const worlds::Adapter& adapter) {
  adapters_[id] = adapter;
}
void Outbox::remove_adapter(const std::string& id) { adapters_.erase(id); }

void Outbox::queue(const Entry& entry) {
  const OpenIntent& intent = entry.intent;
  if (intent.kind == kTimer) {
    timers_.emplace(intent.deliver_at_ns, intent.hash);
  } else {
    queued_[intent.kind].emplace(Position(intent.seq, intent.n), intent.hash);
  }
}

void Outbox::unqueue(const Entry& entry) {
  const OpenIntent& intent = entry.intent;
  timers_.erase({intent.deliver_at_ns, intent.hash});
  auto at = queued_.find(intent.kind);
  if (at == queued_.end()) return;
  at->second.erase(Position(intent.seq, intent.n));
  if (at->second.empty()) queued_.erase(at);
}

void Outbox::add(OpenIntent intent) {
  std::string hash = intent.hash;
  auto [at, fresh] = entries_.try_emplace(std::move(hash));
  if (!fresh) return;
  at->second.intent = std::move(intent);
  queue(at->second);
}

void Outbox::end_lease(Entry& entry) {
  if (entry.until_ms != 0) expiries_.erase({entry.until_ms, entry.intent.hash});
  if (entry.until_ms != 0 || entry.own) --at_work_;
  entry.until_ms = 0;
  entry.own = false;
  entry.adapter.clear();
}

bool Outbox::remove(const std::string& hash) {
  auto at = entries_.find(hash);
  if (at == entries_.end()) return false;
  unqueue(at->second);
  end_lease(at->second);
  entries_.erase(at);
  return true;
}

std::vector<std::string> Outbox::lease(const std::string& adapter,
                                       const std::vector<std::string>& kinds, size_t limit,
                                       int64_t until_ms, int64_t now_ms) {
  release_expired(now_ms);
  std::map<Position, std::string> found;  // the first of each kind, together in emission order
  for (const std::string& kind : kinds) {
    auto at = queued_.find(kind);
    if (at == queued_.end() || !may_take(adapter, kind)) continue;
    size_t taken = 0;
    for (const auto& [position, hash] : at->second) {
      if (taken++ == limit) break;
      found.emplace(position, hash);
    }
  }
  std::vector<std::string> leased;
  for (const auto& [position, hash] : found) {
    if (leased.size() == limit) break;
    Entry& entry = entries_.at(hash);
    if (!has_bug(Bug::LeasedToTwo)) unqueue(entry);
    entry.adapter = adapter;
    entry.until_ms = until_ms;
    expiries_.emplace(until_ms, hash);
    ++at_work_;
    leased.push_back(hash);
  }
  return leased;
}

void Outbox::end_lease_at(const std::string& hash, int64_t until_ms) {
  auto at = entries_.find(hash);
  if (at == entries_.end() || at->second.until_ms <= until_ms) return;
  expiries_.erase({at->second.until_ms, hash});
  at->second.until_ms = until_ms;
  expiries_.emplace(until_ms, hash);
}

size_t Outbox::release_expired(int64_t now_ms) {
  size_t released = 0;
  for (; !expiries_.empty() && expiries_.begin()->first <= now_ms; ++released) {
    Entry& entry = entries_.at(expiries_.begin()->second);
    end_lease(entry);
    queue(entry);
  }
  return released;
}

bool Outbox::begin_own(OpenIntent& intent) {
  auto first = queued_.end();  // in emission order across kinds
  for (auto at = queued_.begin(); at != queued_.end(); ++at)
    if (is_own(at->first) &&
        (first == queued_.end() || at->second.begin()->first < first->second.begin()->first))
      first = at;
  if (first == queued_.end()) return false;
  Entry& entry = entries_.at(first->second.begin()->second);
  intent = entry.intent;
  unqueue(entry);
  entry.own = true;
  ++at_work_;
  return true;
}

void Outbox::take_back_own(const std::string& hash) {
  auto at = entries_.find(hash);
  if (at == entries_.end() || !at->second.own) return;
  end_lease(at->second);
  queue(at->second);
}

bool Outbox::first_timer(int64_t& deadline_ns, std::string& hash) const {
  if (timers_.empty()) return false;
  deadline_ns = timers_.begin()->first;
  hash = timers_.begin()->second;
  return true;
}

std::vector<std::string> Outbox::due_timers(int64_t now_ns, size_t at_most) const {
  std::vector<std::string> due;
  for (const auto& [deadline_ns, hash] : timers_) {
    if (deadline_ns > now_ns || due.size() == at_most) break;
    due.push_back(hash);
  }
  return due;
}

worlds::IntentWork Outbox::work_of(const std::string& hash) const {
  auto at = entries_.find(hash);
  if (at == entries_.end()) return {};
  const Entry& entry = at->second;
  return {.inflight = entry.own || entry.until_ms != 0,
          .adapter_id = entry.own ? "pawl" : entry.adapter,
          .until_ms = entry.until_ms};
}

void Outbox::retain(const std::vector<OpenIntent>& open) {
  std::set<std::string_view> kept;
  for (const OpenIntent& intent : open) kept.insert(intent.hash);
  std::vector<std::string> gone;
  for (const auto& [hash, entry] : entries_)
    if (kept.count(hash) == 0) gone.push_back(hash);
  for (const std::string& hash : gone) remove(hash);
}

}  // namespace pawl
