// SilentLog: while one lives, no line is logged. For simulations: what their processes say is no
// operator's business. Thread: one, before others log.
#pragma once

namespace pawl::log {

class SilentLog {
 public:
  SilentLog();
  ~SilentLog();
  SilentLog(const SilentLog&) = delete;
  SilentLog& operator=(const SilentLog&) = delete;
};

}  // namespace pawl::log
