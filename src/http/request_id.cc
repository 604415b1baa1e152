#include "http/request_id.h"

#include "base/clock.h"
#include "base/uuid.h"

namespace pawl::http {

void append_request_id(std::string& out) {
  thread_local SystemClock clock;
  thread_local SystemRandom random;
  const uint64_t first = random.next();
  const uint64_t second = random.next();
  const auto tail = static_cast<uint16_t>(first >> 48);  // a request belongs to no partition
  out.append("req_");
  Uuid::v7(clock.now_ms(), first, second, tail).append_text(out);
}

}  // namespace pawl::http
