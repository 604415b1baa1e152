#include "wasm/compile.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/codec.h"
#include "wasm/wasmtime_library.h"
#include "worlds/fault.h"

namespace pawl::wasm {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kNiceness = 10;
constexpr size_t kReplyBytesMax = 512 << 20;

// The library keeps a table of all code in the process, under a lock. The child must find that lock
// free, so the table does not change while this process forks.
std::mutex& code_table() {
  static std::mutex mutex;
  return mutex;
}

// What the child sends.
struct Reply {
  bool compiled = false;
  std::string why;  // not
  ModuleFacts facts;
  std::string artifact;

  static void fields(auto& self, auto&& visit) {
    visit(1, "compiled", self.compiled);
    visit(2, "why", self.why);
    visit(3, "facts", self.facts);
    visit(4, "artifact", self.artifact);
  }
};

Reply compile_here(const WasmtimeApi& api, std::string_view code) {
  Reply reply;
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  WasmEngine* engine = compiling_engine(api).release();  // the process ends: nothing is deleted
  WasmModule* module = nullptr;
  if (WasmError* error = api.wasmtime_module_new(engine, bytes, code.size(), &module)) {
    reply.why = take_message(api, error);
    return reply;
  }
  WasmBytes artifact;
  if (WasmError* error = api.wasmtime_module_serialize(module, &artifact)) {
    reply.why = take_message(api, error);
    return reply;
  }
  reply.compiled = true;
  reply.facts = facts_of(api, module);
  reply.artifact.assign(artifact.data, artifact.size);
  return reply;
}

void write_all(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(pipe, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void set_limit(decltype(RLIMIT_AS) which, rlim_t value) {
  const rlimit limit{value, value};
  (void)::setrlimit(which, &limit);
}

uint64_t address_space() {
  unsigned long long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void bound_memory([[maybe_unused]] uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // they take memory by the terabyte
  set_limit(RLIMIT_AS, bytes);
#endif
}

// Nothing that this process has open stays open in the child, and no handler of its signals runs
// there.
void leave_everything_but(int pipe, pid_t parent) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before the line above
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard <= STDERR_FILENO; ++standard) ::dup2(nowhere, standard);
  if (pipe > STDERR_FILENO + 1)
    ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(pipe) - 1, 0);
  ::close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
}

[[noreturn]] void run_child(const WasmtimeApi& api, std::string_view code,
                            const CompileLimits& limits, int pipe, pid_t parent,
                            uint64_t memory_bytes) {
  leave_everything_but(pipe, parent);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, limits.cpu_s);
  bound_memory(memory_bytes);
  (void)::setpriority(PRIO_PROCESS, 0, kNiceness);
  write_all(pipe, codec::encoded(compile_here(api, code)));
  ::_exit(0);
}

// Until the child closes its end. False: not by the deadline, or too much.
bool read_until(SteadyClock::time_point deadline, int pipe, std::string& bytes) {
  std::string buffer(1 << 16, '\0');
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    if (left <= 0 || bytes.size() > kReplyBytesMax) return false;
    pollfd readable{pipe, POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    bytes.append(buffer, 0, static_cast<size_t>(got));
  }
}

// A started child, or -1.
pid_t start_child(const WasmtimeApi& api, std::string_view code, const CompileLimits& limits,
                  int pipe) {
  const pid_t parent = ::getpid();
  const uint64_t memory_bytes = address_space() + limits.memory_bytes;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const std::lock_guard still(code_table());
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // until the child has its own handlers
  const pid_t child = ::fork();
  if (child == 0) run_child(api, code, limits, pipe, parent, memory_bytes);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return child;
}

CompileLimits scaled(CompileLimits limits, size_t code_bytes) {
  const auto mebibytes = static_cast<uint32_t>(code_bytes >> 20);
  limits.cpu_s += limits.cpu_s * mebibytes / 2;
  limits.real_s += limits.real_s * mebibytes / 2;
  return limits;
}

Error not_compiled(std::string why) { return Error{ErrorCode::InvalidContent, std::move(why)}; }

Error no_process() {
  return worlds::refusal(
      ErrorCode::Unavailable, "worlds.no_runtime",
      "modules are compiled in a process of their own, and none could be started");
}

Result<Compiled> outcome(int status, bool in_time, const std::string& bytes,
                         const CompileLimits& limits) {
  Reply reply;
  const bool whole =
      WIFEXITED(status) && WEXITSTATUS(status) == 0 && in_time && codec::decode(bytes, reply);
  if (whole && reply.compiled) return Compiled{std::move(reply.facts), std::move(reply.artifact)};
  if (whole) return not_compiled(std::move(reply.why));
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // The hard limit of CPU time is the soft one too: which of its signals comes first is the
  // kernel's choice.
  if (!in_time || signal == SIGXCPU || signal == SIGKILL) {
    return not_compiled("it takes more than " + std::to_string(limits.cpu_s) + " s to compile");
  }
  return not_compiled("it takes more than " + std::to_string(limits.memory_bytes >> 20) +
                      " MiB to compile, or the compiler failed on it");
}

}  // namespace

Result<Compiled> compile_apart(const WasmtimeApi& api, std::string_view code,
                               const CompileLimits& small) {
  const CompileLimits limits = scaled(small, code.size());
  const auto deadline = SteadyClock::now() + std::chrono::seconds(limits.real_s);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_process();
  const pid_t child = start_child(api, code, limits, ends[1]);
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return no_process();
  }
  std::string bytes;
  const bool in_time = read_until(deadline, ends[0], bytes);
  ::close(ends[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    status = 0;  // a program that embeds Pawl ignores its children: the reply itself tells
    break;
  }
  return outcome(status, in_time, bytes, limits);
}

Result<Owned<WasmModule>> load_artifact(const WasmtimeApi& api, WasmEngine* engine,
                                        std::string_view artifact) {
  const std::lock_guard still(code_table());
  WasmModule* module = nullptr;
  const auto* bytes = reinterpret_cast<const uint8_t*>(artifact.data());
  if (WasmError* error = api.wasmtime_module_deserialize(engine, bytes, artifact.size(), &module)) {
    return not_compiled(take_message(api, error));
  }
  return Owned<WasmModule>(module, Delete{&api});
}

void drop_module(Owned<WasmModule> module) {
  const std::lock_guard still(code_table());
  module.reset();
}

}  // namespace pawl::wasm
