// Calls that the front of a server with several partitions makes of each of them, for its part of
// one answer. They are marked by headers, which a server with one partition ignores.
//
// Parts of a list may have more entries than a client gets: a page that begins at an offset is cut
// out of the first entries of all parts.
#pragma once

#include <string_view>

#include "api/router.h"

namespace pawl::api {

// What the part is for: "1", or one of the words below.
inline constexpr std::string_view kPartHeader = "pawl-part";
inline constexpr std::string_view kPartLook = "look";  // whether it could be done: nothing changes
inline constexpr std::string_view kPartNames = "names";     // of a list whose keys others may have
inline constexpr std::string_view kPartAct = "act";         // after all have looked
inline constexpr std::string_view kPartActAll = "act-all";  // also on what is in use
// How many entries of a list, instead of its limit.
inline constexpr std::string_view kPartLimitHeader = "pawl-part-limit";
// How many jobs a worker holds, of which this partition hears only of its own.
inline constexpr std::string_view kActiveJobsHeader = "pawl-active-jobs";

// Above, a list's keys are not told, and their number becomes an estimate.
inline constexpr size_t kPartNamesMax = 20'000;
inline constexpr size_t kPartOffsetMax = 10'000;
inline constexpr size_t kPartLimitMax = 11'000;

// Whether the call comes from the front; then what it is for is its header's value.
bool is_part(const App& app, const Call& call);

}  // namespace pawl::api
