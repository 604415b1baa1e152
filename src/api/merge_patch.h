// JSON merge patch (RFC 7386): applies a PATCH to a document.
#pragma once

#include <string>

#include "base/json.h"

namespace pawl::api {

// Members of the patch replace those of the target, objects are merged, null removes. A target
// that is no object counts as an empty one.
std::string merge_patch(json::View target, json::View patch);

}  // namespace pawl::api
