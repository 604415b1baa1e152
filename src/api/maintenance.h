// The stored maintenance mode. See ojs/maintenance.cc.
#pragma once

namespace pawl {
class State;
}

namespace pawl::api {

bool is_in_maintenance(const State& state);

}  // namespace pawl::api
