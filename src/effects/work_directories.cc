#include "effects/work_directories.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/hash.h"
#include "base/log.h"
#include "base/partition.h"
#include "engine/waiting_task.h"
#include "journal/peek.h"
#include "journal/record.h"
#include "kernel/frame.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr std::chrono::milliseconds kBreath{2};    // between two steps
constexpr std::chrono::milliseconds kPause{1000};  // before asking the engine again
constexpr size_t kEntriesPerStep = 1'000;
constexpr size_t kNamesPerStep = 1'000;
constexpr size_t kRunsPerQuestion = 64;  // each may be read from disk, on the engine's thread
constexpr size_t kRecordsMax = 1'000;

}  // namespace

WorkRoot WorkRoot::in(const std::string& data_dir) {
  namespace fs = std::filesystem;
  if (!data_dir.empty()) return {fs::absolute(fs::path(data_dir) / "work").string()};
  return {(fs::temp_directory_path() / ("pawl-work-" + random_secret(8))).string(), true};
}

WorkDirectories::WorkDirectories(WorkRoot root) : root_(std::move(root)), discard_(root_.path) {
  if (!root_.path.empty() && !root_.temporary) close_root();
}

// Other users cannot read the files of runs, even if they can read the parent directory.
void WorkDirectories::close_root() {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(root_.path).parent_path(), ignored);
  if (::mkdir(root_.path.c_str(), 0700) != 0 && errno != EEXIST) return;
  // A new directory may inherit the group bit of its parent.
  struct stat info;
  if (::stat(root_.path.c_str(), &info) == 0 && (info.st_mode & 07777) == 0700) return;
  if (::chmod(root_.path.c_str(), 0700) != 0)
    log::error("the directory of runs' files is open to other users", {{"path", root_.path}});
}

WorkDirectories::~WorkDirectories() {
  stop();
  std::error_code ignored;
  if (root_.temporary) std::filesystem::remove_all(root_.path, ignored);
}

std::string WorkDirectories::open(const RunId& run) {
  {
    std::lock_guard lock(mutex_);
    if (asking_) opened_.insert(run);
  }
  std::string path = root_.path + "/" + run.text();
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return path;
  if (errno == ENOENT) close_root();
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    log::error("cannot create a work directory",
               {{"path", path}, {"error", std::generic_category().message(errno)}});
  return path;
}

void WorkDirectories::attach(EngineLoop& engine) {
  if (root_.path.empty()) return;
  engine_ = &engine;
  listener_ = engine.listen([this](uint64_t, const Record& record) {
    if (!journal::holds(*record, EventType::RunForgotten)) return;
    {
      std::lock_guard lock(mutex_);
      if (records_.size() < kRecordsMax) {
        records_.push_back(record);
      } else {
        list_all_ = true;
      }
    }
    wakes_.notify_one();
  });
  thread_ = std::thread([this] { run(); });
}

void WorkDirectories::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  thread_.join();
  engine_->unlisten(listener_);
}

void WorkDirectories::run() {
  bool busy = true;
  while (wait(busy)) {
    note_forgotten();
    list_some();
    sort_out();
    busy = discard_.step(kEntriesPerStep) || listing_ != nullptr || !doubtful_.empty();
  }
}

// False when stopping.
bool WorkDirectories::wait(bool busy) {
  std::unique_lock lock(mutex_);
  if (refused_ || busy) {
    wakes_.wait_for(lock, refused_ ? kPause : kBreath, [&] { return stopping_; });
  } else {
    wakes_.wait(lock, [&] { return stopping_ || list_all_ || !records_.empty(); });
  }
  return !stopping_;
}

void WorkDirectories::note_forgotten() {
  Record record;
  {
    std::lock_guard lock(mutex_);
    if (records_.empty()) return;
    record = std::move(records_.front());
    records_.pop_front();
  }
  auto events = journal::read_record(0, *record);
  if (!events.ok()) return;
  for (const journal::EventBytes& event : *events) {
    RunForgotten forgotten;
    if (event.type != EventType::RunForgotten || !codec::decode(event.bytes, forgotten)) continue;
    if (discard_.has(forgotten.run.text())) doubtful_.push_back(forgotten.run);
  }
}

bool WorkDirectories::is_ours(const RunId& run) const {
  return partition_of(run, root_.partitions) == root_.partition;
}

void WorkDirectories::list_some() {
  if (listing_ == nullptr) {
    {
      std::lock_guard lock(mutex_);
      if (!std::exchange(list_all_, false)) return;
    }
    listing_.reset(::opendir(root_.path.c_str()));
  }
  for (size_t i = 0; listing_ != nullptr && i < kNamesPerStep; ++i) {
    const dirent* entry = ::readdir(listing_.get());
    if (entry == nullptr) return listing_.reset();
    auto run = RunId::parse(entry->d_name);
    if (run && is_ours(*run) && discard_.has(entry->d_name)) doubtful_.push_back(*run);
  }
}

// Asks the engine which directories in doubtful_ have no run, and discards those.
void WorkDirectories::sort_out() {
  if (doubtful_.empty()) return;
  auto end =
      doubtful_.begin() + static_cast<std::ptrdiff_t>(std::min(doubtful_.size(), kRunsPerQuestion));
  const std::vector<RunId> asked(doubtful_.begin(), end);
  std::vector<RunId> gone;
  auto look = [&](const Frame& frame) {
    for (const RunId& run : asked)
      if (frame.state().find_run(run) == nullptr) gone.push_back(run);
  };
  {
    std::lock_guard lock(mutex_);
    asking_ = true;
  }
  Status told = run_on_engine(*engine_, look, true);
  refused_ = !told.ok() && (told.error().code == ErrorCode::Overloaded ||
                            told.error().code == ErrorCode::StoreFailed);
  if (!refused_) doubtful_.erase(doubtful_.begin(), end);
  take(told.ok() ? gone : std::vector<RunId>());
}

void WorkDirectories::take(const std::vector<RunId>& gone) {
  // Locked meanwhile: a directory that is opened now is either new, or was opened before and is
  // kept.
  std::lock_guard lock(mutex_);
  for (const RunId& run : gone) {
    if (opened_.contains(run)) continue;
    Status taken = discard_.take(run.text());
    if (!taken.ok() && taken.error().code != ErrorCode::NotFound)
      log::error("a run's directory cannot be removed", {{"error", taken.error().message}});
  }
  asking_ = false;
  opened_.clear();
}

}  // namespace pawl
