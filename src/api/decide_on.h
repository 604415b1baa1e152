// Calls about one thing that the first parameter of their path names.
#pragma once

#include <string>
#include <string_view>

#include "api/app.h"
#include "kernel/frame.h"

namespace pawl::api {

// Decides on what the first parameter of the path names, if the caller's tenant may see it: act is
// Reply(Frame&, Found).
template <class Found>
void decide_on(App& app, Call&& call,
               Result<Found> (*find)(const State&, std::string_view text, std::string_view tenant),
               auto act) {
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [text, tenant, find, act](Frame& frame) -> Reply {
    PAWL_TRY(Found found, find(frame.state(), text, tenant));
    return act(frame, std::move(found));
  });
}

}  // namespace pawl::api
