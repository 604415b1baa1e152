#include "sim/isolated.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/codec.h"

namespace pawl::sim {
namespace {

constexpr rlim_t kMemoryMax = rlim_t{2} << 30;
constexpr rlim_t kCpuSecondsMax = 60;

// The data sent over the pipe.
struct Outcome {
  bool ok = false;
  std::string checker;
  std::string what;
  std::string lines;
  uint64_t steps_done = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "ok", self.ok);
    visit(2, "checker", self.checker);
    visit(3, "what", self.what);
    visit(4, "lines", self.lines);
    visit(5, "steps_done", self.steps_done);
  }
};

void write_all(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(pipe, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
}

std::string read_all(int pipe) {
  std::string bytes;
  char buffer[4096];
  while (true) {
    ssize_t got = ::read(pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

// Only the verdict counts here; the output of a dying process is suppressed.
[[noreturn]] void run_child(int pipe, const SimOptions& options) {
  int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  bound_memory();
  rlimit seconds{kCpuSecondsMax, kCpuSecondsMax};
  (void)::setrlimit(RLIMIT_CPU, &seconds);
  SimReport report = run_simulation(options);
  Outcome outcome{report.ok, report.checker, report.what, report.last_lines, report.steps_done};
  write_all(pipe, codec::encoded(outcome));
  ::_exit(0);
}

}  // namespace

void bound_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
  rlimit bytes{kMemoryMax, kMemoryMax};
  (void)::setrlimit(RLIMIT_AS, &bytes);
#endif
}

SimReport run_isolated(const SimOptions& options) {
  int ends[2];
  SimReport report;
  if (::pipe2(ends, O_CLOEXEC) != 0) PAWL_CHECK(false);
  pid_t child = ::fork();
  PAWL_CHECK(child >= 0);
  if (child == 0) run_child(ends[1], options);
  ::close(ends[1]);
  std::string bytes = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  Outcome outcome;
  if (!WIFEXITED(status) || !codec::decode(bytes, outcome)) {
    report.ok = false;
    report.checker = "abort";
    report.what = WIFSIGNALED(status)
                      ? std::string("the program was ended by ") + strsignal(WTERMSIG(status))
                      : "the program ended by itself";
    report.steps_done = static_cast<uint32_t>(options.steps);
    return report;
  }
  report.ok = outcome.ok;
  report.checker = std::move(outcome.checker);
  report.what = std::move(outcome.what);
  report.last_lines = std::move(outcome.lines);
  report.steps_done = static_cast<uint32_t>(outcome.steps_done);
  return report;
}

}  // namespace pawl::sim
