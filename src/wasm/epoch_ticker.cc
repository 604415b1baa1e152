#include "wasm/epoch_ticker.h"

namespace pawl::wasm {
namespace {

constexpr int kIdleTicksMax =
    20;  // then it sleeps; a busy server would otherwise wake it for every call

}  // namespace

EpochTicker::EpochTicker(const WasmtimeApi& api, WasmEngine* engine) : api_(api), engine_(engine) {
  thread_ = std::thread([this] { tick_until_stopped(); });
}

EpochTicker::~EpochTicker() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

uint64_t EpochTicker::ticks(uint32_t time_ms) {
  const auto tick = static_cast<uint64_t>(kTick.count());
  return (time_ms + tick - 1) / tick + 1;  // the first tick may come at once
}

void EpochTicker::begin() {
  running_.fetch_add(1);
  // Either this sees the sleeper, or the sleeper sees the call before it sleeps: both are in one
  // order.
  if (!asleep_.load()) return;
  { const std::lock_guard lock(mutex_); }
  wake_.notify_one();
}

void EpochTicker::tick_until_stopped() {
  std::unique_lock lock(mutex_);
  int idle = 0;
  while (!stopped_) {
    wake_.wait_for(lock, kTick, [this] { return stopped_; });
    api_.wasmtime_engine_increment_epoch(engine_);
    idle = running_.load() == 0 ? idle + 1 : 0;
    if (idle < kIdleTicksMax) continue;
    asleep_.store(true);
    wake_.wait(lock, [this] { return stopped_ || running_.load() != 0; });
    asleep_.store(false);
    idle = 0;
  }
}

}  // namespace pawl::wasm
