// Workflows as Open Job Spec clients send them → Plan. Every complaint carries the JSON path of its
// place, and all of them are reported at once (400 invalid_workflow).
//
// A batch may also come as steps of which some are its callbacks (options.callback_type, or ids
// such as on-complete), and `options` beside the steps apply to all of them.
//
// Beyond OJS 1.0: steps with depends_on (a dag), `when`, `map`, `timeout_ms` with `on_timeout`, and
// the callback `on_cancel`. Pure; any thread.
#pragma once

#include "plan/ojs/parse_job.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

Result<PlanNode> parse_workflow(json::View body, const EnvelopeRules& rules);

// "wf_<uuid>" and "<uuid>" name the same workflow; any other text is a client's own id.
RunId workflow_id(std::string_view text, uint16_t partitions);

}  // namespace pawl
