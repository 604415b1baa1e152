// Calls on runs that are instances of modules: what happens to one is an input of its world.
#pragma once

#include <functional>
#include <string>

#include "api/app.h"

namespace pawl::api {

// Looks which kind of run a call is about, and hands it to the one or the other. Any thread.
void if_instance(App& app, Call&& call,
                 std::function<void(Call&&, const std::string& world)> instance,
                 std::function<void(Call&&)> other);

void cancel_instance(App& app, Call&& call, const std::string& world);
void retry_instance_call(App& app, Call&& call, const std::string& world);
// The records of its world's journal that are about it.
void instance_events(App& app, Call&& call, const std::string& world);

}  // namespace pawl::api
