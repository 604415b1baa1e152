// Diagrams over HTTP. Laying out thousands of steps takes long, so the engine thread only copies
// the data; it is compiled and drawn on the caller's thread, which is one of App::checks (the
// route says Compiles::Always).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/app.h"
#include "plan/diagram.h"
#include "wire/render_script.h"

namespace pawl::api {

struct DiagramSource {
  std::string canonical;  // the definition's text
  bool of_run = false;
  std::vector<PlacedStatus> statuses;
};

// take runs on the engine thread. Blocks until it has.
void answer_diagram(App& app, Call&& call, std::function<Result<DiagramSource>(const State&)> take);

}  // namespace pawl::api
