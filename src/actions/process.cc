#include "actions/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "actions/death_watch.h"
#include "actions/file_handle.h"
#include "actions/spawn.h"

namespace pawl::actions {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr int kFirstFreeDescriptor = 3;  // the three standard streams of the child are below

struct Pipe {
  FileHandle ours;
  FileHandle theirs;
};

FileHandle above_standard(int fd) {
  FileHandle low(fd);
  return FileHandle(::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
}

Result<Pipe> make_pipe(bool ours_reads) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::Unavailable, "no pipe can be made: " + std::string(strerror(errno))};
  FileHandle reads = above_standard(ends[0]);
  FileHandle writes = above_standard(ends[1]);
  if (!reads.is_open() || !writes.is_open())
    return Error{ErrorCode::Unavailable, "no pipe can be made: too many open files"};
  Pipe pipe;
  pipe.ours = ours_reads ? std::move(reads) : std::move(writes);
  pipe.theirs = ours_reads ? std::move(writes) : std::move(reads);
  ::fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// Writing to a process that no longer reads raises SIGPIPE, which would end the server: blocked on
// this thread, and discarded before it is unblocked.
class PipeSignalHeld {
 public:
  PipeSignalHeld() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  PipeSignalHeld& operator=(PipeSignalHeld&&) = delete;
  ~PipeSignalHeld() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec none{};
      while (sigtimedwait(&pipe_, nullptr, &none) == SIGPIPE) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

// The running process and its output so far.
class Watch {
 public:
  Watch(const ProcessSpec& spec, StopSignal& stop, pid_t pid, FileHandle input, FileHandle output,
        FileHandle errors)
      : spec_(spec), stop_(stop), pid_(pid) {
    input_ = std::move(input);
    output_ = std::move(output);
    errors_ = std::move(errors);
    process_ = FileHandle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (spec.kill_after_ms > 0)
      kill_at_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(spec.kill_after_ms);
    if (spec.input.empty()) input_.reset();
  }

  ProcessEnd run() {
    bool running = true;
    while (running) running = step();
    // Until the first process is reaped, its number, which is also the group's, is not reused.
    ::kill(-pid_, SIGKILL);
    DeathWatch::of_this_process().ended(pid_);
    reap();
    // The last output is still in the pipes.
    if (end_.why == ProcessEnd::Why::Exited || end_.why == ProcessEnd::Why::KilledByTime) {
      drain(output_, end_.output);
      drain(errors_, end_.errors);
    }
    return std::move(end_);
  }

 private:
  // False once it has exited or must be killed.
  bool step() {
    if (stop_.should_stop() || !process_.is_open()) return over(ProcessEnd::Why::Stopped);
    if (std::chrono::steady_clock::now() >= kill_at_) return over(ProcessEnd::Why::KilledByTime);
    pollfd polled[] = {{process_.get(), POLLIN, 0},
                       {stop_.descriptor(), POLLIN, 0},
                       {output_.get(), POLLIN, 0},
                       {errors_.get(), POLLIN, 0},
                       {input_.get(), POLLOUT, 0}};
    if (::poll(polled, 5, wait_ms()) < 0 && errno != EINTR) return over(ProcessEnd::Why::Stopped);
    if (polled[4].revents != 0) feed();
    if (polled[2].revents != 0) drain(output_, end_.output);
    if (polled[3].revents != 0) drain(errors_, end_.errors);
    if (end_.why == ProcessEnd::Why::SaidTooMuch) return false;
    return polled[0].revents == 0;
  }

  void reap() {
    siginfo_t info{};
    rusage used{};
    while (::syscall(SYS_waitid, P_PID, pid_, &info, WEXITED, &used) != 0 && errno == EINTR) {
    }
    bool exited = info.si_code == CLD_EXITED;
    end_.exit_code = exited ? info.si_status : -1;
    end_.signal = exited ? 0 : info.si_status;
    end_.cpu_ms = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                  (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
  }

  bool over(ProcessEnd::Why why) {
    end_.why = why;
    return false;
  }

  int wait_ms() const {
    auto until = std::min(kill_at_, stop_.deadline());
    if (until == StopSignal::Time::max()) return -1;
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
  }

  void feed() {
    while (fed_ < spec_.input.size()) {
      ssize_t count = ::write(input_.get(), spec_.input.data() + fed_, spec_.input.size() - fed_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count < 0) break;  // it does not read the rest
      fed_ += static_cast<size_t>(count);
    }
    input_.reset();
  }

  void drain(FileHandle& from, std::string& into) {
    char buffer[kReadBytes];
    while (from.is_open()) {
      ssize_t count = ::read(from.get(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        from.reset();
        return;
      }
      if (into.size() + static_cast<size_t>(count) > spec_.output_bytes_max) {
        end_.why = ProcessEnd::Why::SaidTooMuch;
        return;
      }
      into.append(buffer, static_cast<size_t>(count));
      if (stop_.should_stop()) return;
    }
  }

  const ProcessSpec& spec_;
  StopSignal& stop_;
  pid_t pid_;
  FileHandle process_, input_, output_, errors_;
  StopSignal::Time kill_at_ = StopSignal::Time::max();
  size_t fed_ = 0;
  ProcessEnd end_;
};

}  // namespace

Result<ProcessEnd> run_process(const ProcessSpec& spec, StopSignal& stop) {
  PipeSignalHeld held;
  PAWL_TRY(Pipe input, make_pipe(false));
  PAWL_TRY(Pipe output, make_pipe(true));
  PAWL_TRY(Pipe errors, make_pipe(true));
  if (stop.descriptor() < 0) return Error{ErrorCode::Unavailable, "too many open files"};
  WorkingCommand working;
  PAWL_TRY(pid_t pid,
           spawn(spec, input.theirs.get(), output.theirs.get(), errors.theirs.get(), working));
  input.theirs.reset();
  output.theirs.reset();
  errors.theirs.reset();
  Watch watch(spec, stop, pid, std::move(input.ours), std::move(output.ours),
              std::move(errors.ours));
  return watch.run();
}

}  // namespace pawl::actions
