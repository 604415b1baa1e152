#include "main/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace pawl {
namespace {

constexpr uint64_t kFilesMax =
    1u << 20;  // not "unlimited", since kernel tables grow with the limit
constexpr uint64_t kReserveMin = 64;
constexpr uint64_t kReserveMax = 1024;
constexpr uint64_t kRefusing = 64;  // connections over the cap that get a 503
constexpr uint64_t kConnectionsMin = 8;

}  // namespace

FileLimit raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {1024, 1024};
  FileLimit result{limit.rlim_cur, limit.rlim_cur};
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kFilesMax);
  if (wanted <= limit.rlim_cur) return result;
  limit.rlim_cur = wanted;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) result.now = wanted;
  return result;
}

size_t connections_within(uint64_t files, size_t wanted) {
  const uint64_t reserve = std::clamp(files / 4, kReserveMin, kReserveMax) + kRefusing;
  const uint64_t room = files > reserve + kConnectionsMin ? files - reserve : kConnectionsMin;
  return static_cast<size_t>(std::min<uint64_t>(wanted, room));
}

}  // namespace pawl
