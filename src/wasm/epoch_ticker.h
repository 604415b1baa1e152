// EpochTicker: moves the epoch of an engine forward while calls run, so that each ends at its
// deadline. Between calls it sleeps and costs nothing.
//
// Thread: any for calls; the ticker has one thread of its own, from its making to its end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "wasm/wasmtime_api.h"

namespace pawl::wasm {

class EpochTicker {
 public:
  static constexpr std::chrono::milliseconds kTick{50};

  EpochTicker(const WasmtimeApi& api, WasmEngine* engine);
  ~EpochTicker();

  // How many ticks from now are past `time_ms`: no call is stopped before its time.
  static uint64_t ticks(uint32_t time_ms);

  // While one exists, the epoch moves.
  class Running {
   public:
    explicit Running(EpochTicker& ticker) : ticker_(ticker) { ticker_.begin(); }
    ~Running() { ticker_.running_.fetch_sub(1); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    EpochTicker& ticker_;
  };

 private:
  void begin();
  void tick_until_stopped();

  const WasmtimeApi& api_;
  WasmEngine* engine_;
  std::atomic<uint32_t> running_{0};
  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace pawl::wasm
