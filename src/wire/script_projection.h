// The public events of runs of definitions, with their data. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "wire/event_projection.h"

namespace pawl {

// Appends the events of one journal event; none for internal events and other entities.
void project_script(const journal::EventBytes& event, std::vector<OjsEvent>& out);

const std::vector<std::string_view>& script_event_names();

// {seq, type, run_id, step_id?, timestamp, data}
void render_run_event(json::Writer& w, const OjsEvent& event);

}  // namespace pawl
