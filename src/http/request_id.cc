#include "http/request_id.h"

#include "base/uuid.h"

namespace pawl::http {

void RequestIds::append_to(std::string& out) {
  const uint64_t first = random_.next();
  const uint64_t second = random_.next();
  const auto tail = static_cast<uint16_t>(first >> 48);  // a request belongs to no partition
  out.append("req_");
  Uuid::v7(clock_.now_ms(), first, second, tail).append_text(out);
}

}  // namespace pawl::http
