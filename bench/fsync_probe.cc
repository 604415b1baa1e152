#include "fsync_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "failure.h"

namespace pawl::bench {

Result<FsyncFigures> probe_fsync(const std::string& directory, int count) {
  constexpr size_t kBlockBytes = 4096;
  constexpr double kSecondsMax = 10;
  const std::string path = directory + "/fsync-probe";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail_errno("open " + path);
  std::array<char, kBlockBytes> block;
  block.fill('p');

  FsyncFigures figures;
  bool written = true;
  const auto begin = Clock::now();
  auto last = begin;
  for (int i = 0; i < count && written && seconds_between(begin, last) < kSecondsMax; ++i) {
    written = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) &&
              fdatasync(fd) == 0;
    const auto now = Clock::now();
    figures.latency.add(now - last);
    last = now;
  }
  Error error = fail_errno("write and fdatasync " + path);
  close(fd);
  unlink(path.c_str());
  if (!written) return error;
  figures.per_second = static_cast<double>(figures.latency.count()) / seconds_between(begin, last);
  return figures;
}

}  // namespace pawl::bench
