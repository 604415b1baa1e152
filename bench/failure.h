// fail("…"): ends a run. No caller tells failures of a benchmark apart, so one code serves; the
// text is what the person who started the run reads.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/result.h"

namespace pawl::bench {

template <typename... Args>
Error fail(fmt::format_string<Args...> text, Args&&... args) {
  return Error{ErrorCode::Internal, fmt::format(text, std::forward<Args>(args)...)};
}

inline Error fail_errno(std::string_view what) { return fail("{}: {}", what, strerror(errno)); }

}  // namespace pawl::bench
