#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "pawl: internal check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace pawl
