#include "actions/spawn.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "actions/death_watch.h"
#include "base/quote.h"

#if defined(__SANITIZE_THREAD__)
// The C library's own: ThreadSanitizer's clone() assumes that every child has its own memory.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* given, ...);
#define clone __clone
#endif

namespace pawl::actions {
namespace {

constexpr size_t kStackBytes = 256 * 1024;
// Between SIGXCPU and SIGKILL.
constexpr uint64_t kCpuGraceSeconds = 2;

enum class Stage { Streams, Directory, Limits, Watch, Program };

struct Limit {
  __rlimit_resource resource;
  rlimit value;
};

// Everything the child needs, prepared in advance: it shares the server's memory, so it must not
// allocate, lock, or change anything but its own fields here.
struct Child {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;  // null = the server's
  int input, output, errors;
  int watch;
  const Limit* limits;
  size_t limit_count;
  pid_t server;
  WorkingCommand* working;
  // The error, for the server.
  int failed = 0;
  Stage stage = Stage::Streams;
};

bool tell_watch(int pipe) {
  GroupLine line('+', ::getpid());
  ssize_t written = ::write(pipe, line.text, line.size);
  while (written < 0 && errno == EINTR) written = ::write(pipe, line.text, line.size);
  return written == static_cast<ssize_t>(line.size);
}

bool prepare(Child& child) {
  ::setpgid(0, 0);
  child.working->tell(::getpid());
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the server died before that, the signal would not be sent.
  if (::getppid() != child.server) return false;
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  child.stage = Stage::Streams;
  if (::dup2(child.input, STDIN_FILENO) < 0 || ::dup2(child.output, STDOUT_FILENO) < 0 ||
      ::dup2(child.errors, STDERR_FILENO) < 0)
    return false;
  child.stage = Stage::Directory;
  if (child.directory != nullptr && ::chdir(child.directory) != 0) return false;
  child.stage = Stage::Limits;
  for (size_t i = 0; i < child.limit_count; ++i)
    if (::setrlimit(child.limits[i].resource, &child.limits[i].value) != 0) return false;
  child.stage = Stage::Watch;
  return tell_watch(child.watch);
}

int become_program(void* given) {
  Child& child = *static_cast<Child*>(given);
  if (prepare(child)) {
    child.stage = Stage::Program;
    // Closes the server's descriptors that lack close-on-exec.
    ::closefrom(STDERR_FILENO + 1);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(child.program, child.arguments, child.environment);
  }
  child.failed = errno;
  return 127;
}

// A signal handler of the server must not run in the child, which shares its memory.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsHeld& operator=(SignalsHeld&&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

void add_limit(std::vector<Limit>& limits, __rlimit_resource resource, uint64_t wanted,
               uint64_t grace = 0) {
  rlimit now{};
  if (wanted == 0 || ::getrlimit(resource, &now) != 0) return;
  // The server's own limit may be lower.
  limits.push_back(
      {resource,
       {std::min<rlim_t>(wanted, now.rlim_max), std::min<rlim_t>(wanted + grace, now.rlim_max)}});
}

std::vector<Limit> limits_of(const ProcessLimits& wanted) {
  std::vector<Limit> limits{{RLIMIT_CORE, {0, 0}}};
  add_limit(limits, RLIMIT_AS, wanted.memory_bytes);
  add_limit(limits, RLIMIT_CPU, wanted.cpu_s, kCpuGraceSeconds);
  add_limit(limits, RLIMIT_FSIZE, wanted.file_bytes);
  add_limit(limits, RLIMIT_NOFILE, wanted.open_files);
  add_limit(limits, RLIMIT_NPROC, wanted.processes);
  return limits;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

Error spawn_error(int number, const std::string& what) {
  std::string message = what + ": " + std::generic_category().message(number);
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorCode::NotFound, message};
    case EACCES:
    case EPERM:
      return Error{ErrorCode::Forbidden, message};
    case E2BIG:
    case ENOEXEC:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return Error{ErrorCode::InvalidContent, message};
    default:
      return Error{ErrorCode::Unavailable, message};
  }
}

Error child_error(const Child& child, const ProcessSpec& spec) {
  switch (child.stage) {
    case Stage::Program:
      return spawn_error(child.failed, in_quotes(spec.program));
    case Stage::Directory:
      return spawn_error(child.failed, in_quotes(spec.directory));
    case Stage::Streams:
    case Stage::Limits:
    case Stage::Watch:
      break;
  }
  return {ErrorCode::Unavailable,
          in_quotes(spec.program) + ": " + std::generic_category().message(child.failed)};
}

}  // namespace

Result<pid_t> spawn(const ProcessSpec& spec, int input, int output, int errors,
                    WorkingCommand& working) {
  std::vector<char*> arguments = pointers(spec.arguments);
  std::vector<char*> environment = pointers(spec.environment);
  std::vector<Limit> limits = limits_of(spec.limits);
  std::vector<char> stack(kStackBytes);
  DeathWatch& watch = DeathWatch::of_this_process();
  // Twice: the watch may have been killed since the last command.
  for (bool again : {true, false}) {
    PAWL_TRY(DeathWatch::Line line, watch.line());
    Child child{.program = spec.program.c_str(),
                .arguments = arguments.data(),
                .environment = environment.data(),
                .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
                .input = input,
                .output = output,
                .errors = errors,
                .watch = line.pipe->get(),
                .limits = limits.data(),
                .limit_count = limits.size(),
                .server = ::getpid(),
                .working = &working};
    pid_t pid = 0;
    {
      SignalsHeld held;
      // As vfork: this thread continues when the child has executed the program or exited.
      pid = ::clone(become_program, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD,
                    &child);
    }
    if (pid < 0) return spawn_error(errno, in_quotes(spec.program));
    if (child.failed == 0) {
      watch.began(pid, line);
      return pid;
    }
    if (child.stage == Stage::Program) watch.ended(pid);
    ::waitpid(pid, nullptr, 0);
    if (child.stage != Stage::Watch || !again) return child_error(child, spec);
    watch.broken(line);
  }
  return Error{ErrorCode::Unavailable, "no process can be made"};
}

}  // namespace pawl::actions
