#include "base/give_way.h"

#include <sys/resource.h>
#include <unistd.h>

namespace pawl {
namespace {

constexpr int kBackgroundNice = 10;

}  // namespace

// On Linux niceness applies to one thread. If the call fails, only fairness suffers.
void give_way() {
  const id_t self = static_cast<id_t>(::gettid());
  if (::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + kBackgroundNice) != 0)
    return;
}

}  // namespace pawl
