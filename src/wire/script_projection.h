// What happens to runs of definitions, as users see it: the events of the language, each with its
// data. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "wire/event_projection.h"

namespace pawl {

// Appends the events of one journal event; none for what is internal or belongs to other things.
void project_script(const journal::EventBytes& event, std::vector<OjsEvent>& out);

const std::vector<std::string_view>& script_event_names();

// {seq, type, run_id, step_id?, timestamp, data}
void render_run_event(json::Writer& w, const OjsEvent& event);

}  // namespace pawl
