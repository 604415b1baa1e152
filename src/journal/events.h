// Events: past facts, each about one entity. They are journaled, folded on recovery, and shown to
// users.
#pragma once

#include <cstdint>
#include <string_view>

#include "journal/job_events.h"
#include "journal/run_events.h"
#include "journal/script_events.h"
#include "journal/settings_events.h"

namespace pawl {

enum class EventType : uint16_t {
#define PAWL_EVENT(number, name) name = number,
#include "journal/event_types.def"
#undef PAWL_EVENT
};

template <class Event>
constexpr EventType event_type();
#define PAWL_EVENT(number, name)           \
  template <>                              \
  constexpr EventType event_type<name>() { \
    return EventType::name;                \
  }
#include "journal/event_types.def"
#undef PAWL_EVENT

std::string_view event_name(EventType type);

}  // namespace pawl
