// StoredDecision: what a person or agent is asked by a step, as its document holds it.
#pragma once

#include <cstdint>
#include <string>

#include "base/codec.h"
#include "base/uuid.h"

namespace pawl {

// A question that waits for an answer, or has one.
struct StoredDecision {
  RunId run;
  std::string step;
  std::string status;   // pending, resolved, timed_out, cancelled
  std::string context;  // JSON: prompt, data, options
  std::string target_agent;
  std::string answer;  // JSON
  int64_t created_ms = 0;
  int64_t expires_ms = 0;
  std::string tenant;

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "step", self.step);
    visit(3, "status", self.status);
    visit(4, "context", self.context);
    visit(5, "target_agent", self.target_agent);
    visit(6, "answer", self.answer);
    visit(7, "created_ms", self.created_ms);
    visit(8, "expires_ms", self.expires_ms);
    visit(9, "tenant", self.tenant);
  }
};

}  // namespace pawl
