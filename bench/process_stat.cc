#include "process_stat.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "failure.h"

namespace pawl::bench {
namespace {

Result<std::string> slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail("{} is not readable: has the process ended?", path);
  return text.str();
}

int64_t kilobytes_after(const std::string& status, std::string_view key) {
  const size_t at = status.find(key);
  return at == std::string::npos ? 0 : std::stoll(status.substr(at + key.size())) * 1024;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Result<ProcessStat> process_stat(pid_t pid) {
  PAWL_TRY(const std::string stat, slurp(fmt::format("/proc/{}/stat", pid)));
  PAWL_TRY(const std::string status, slurp(fmt::format("/proc/{}/status", pid)));
  // The command name may hold blanks and parentheses; fields are counted after its last one.
  const size_t name_end = stat.rfind(')');
  unsigned long user = 0;
  unsigned long system = 0;
  if (name_end == std::string::npos ||
      sscanf(stat.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
             &user, &system) != 2) {
    return fail("/proc/{}/stat is not as expected: {}", pid, stat);
  }
  ProcessStat result;
  result.cpu_seconds =
      static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  result.rss_bytes = kilobytes_after(status, "VmRSS:");
  result.rss_peak_bytes = kilobytes_after(status, "VmHWM:");
  return result;
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

}  // namespace pawl::bench
