// PAWL_CHECK(condition): our own assumption, checked in release too. Failing means a bug in Pawl,
// so the process stops with the place; continuing could write a wrong state durably.
#pragma once

namespace pawl {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace pawl

#define PAWL_CHECK(condition)                          \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::pawl::check_failed(#condition, __FILE__, __LINE__))
