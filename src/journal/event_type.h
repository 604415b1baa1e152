// Which events there are, without their contents: enough to emit and to apply one.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl {

#define PAWL_EVENT(number, name) struct name;
#include "journal/event_types.def"
#undef PAWL_EVENT

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
