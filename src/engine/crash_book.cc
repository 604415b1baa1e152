#include "engine/crash_book.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/working_on.h"

namespace pawl {
namespace {

constexpr char kMagic[8] = {'P', 'A', 'W', 'L', 'C', 'B', '0', '1'};
constexpr size_t kSlots = 128;
constexpr size_t kCounts = 64;
constexpr uint32_t kElsewhere = UINT32_MAX;  // a mark: the thread that died had no slot
constexpr uint32_t kDeathsSane = 1'000;
constexpr std::chrono::milliseconds kBeat{250};
constexpr uint32_t kBeatsToBlame = 5;           // more than a second at the same work
constexpr uint32_t kBeatsOfANewCommand = 4;     // at most a second since it began
constexpr uint64_t kBeatsToForgive = 4 * 3600;  // a process that lived for an hour
constexpr std::array kFatal = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// Deaths are counted per group of work: all phases of an effect (preparing, starting, running)
// count as one.
enum class Group : uint32_t { None = 0, Decision = 1, Fold = 2, Effect = 3, World = 4 };

Group group_of(uint32_t kind) {
  switch (static_cast<WorkKind>(kind)) {
    case WorkKind::Decision:
      return Group::Decision;
    case WorkKind::Fold:
      return Group::Fold;
    case WorkKind::Preparation:
    case WorkKind::Start:
    case WorkKind::Action:
      return Group::Effect;
    case WorkKind::World:
      return Group::World;
    case WorkKind::None:
      break;
  }
  return Group::None;
}

const char* name_of(Group group) {
  switch (group) {
    case Group::Decision:
      return "a decision";
    case Group::Fold:
      return "reading the journal";
    case Group::Effect:
      return "an effect";
    case Group::World:
      return "the work";
    case Group::None:
      break;
  }
  return "its work";
}

struct Count {
  uint64_t id_hi = 0;
  uint64_t id_lo = 0;
  uint64_t sequence = 0;
  uint32_t group = 0;
  uint32_t deaths = 0;
  int32_t signal = 0;
  uint32_t unused = 0;
};

}  // namespace

// The whole file.
struct CrashBook::Page {
  char magic[8];
  std::atomic<uint32_t> running;  // 0: the last process ended well
  std::atomic<uint32_t> mark;     // slot of the thread that died, plus one
  std::atomic<int32_t> signal;
  uint32_t unused[11];
  Count counts[kCounts];
  WorkSlot slots[kSlots];
};

namespace {

// Data that the handler of a fatal signal may use.
std::atomic<std::atomic<uint32_t>*> fatal_mark{nullptr};
std::atomic<std::atomic<int32_t>*> fatal_signal{nullptr};
std::atomic<WorkSlot*> fatal_slots{nullptr};
struct sigaction before[NSIG];

// The slot, plus one, of the thread whose command sent this signal; 0 if another process did. A
// command's processes are identified by their group.
uint32_t slot_of_sender(pid_t sender) {
  const pid_t group = ::getpgid(sender);
  const WorkSlot* slots = fatal_slots.load();
  for (uint32_t i = 0; i < kSlots; ++i) {
    const pid_t command = slots[i].command.load(std::memory_order_relaxed);
    if (command != 0 && (command == group || command == sender)) return i + 1;
  }
  return 0;
}

// The slot to mark. A signal from another process says nothing about the thread that received it.
uint32_t marked_by(const siginfo_t* info) {
  const bool sent = info != nullptr && info->si_code <= 0 && info->si_pid != ::getpid();
  if (sent) return slot_of_sender(info->si_pid);
  if (work_slot == nullptr) return kElsewhere;
  return static_cast<uint32_t>(work_slot - fatal_slots.load()) + 1;
}

void on_fatal_signal(int number, siginfo_t* info, void*) {
  if (std::atomic<uint32_t>* mark = fatal_mark.load()) {
    uint32_t none = 0;
    if (mark->compare_exchange_strong(none, marked_by(info))) fatal_signal.load()->store(number);
  }
  // Restores the previous handler. A fault happens again on return; a sent signal must be sent
  // again.
  ::sigaction(number, &before[number], nullptr);
  if (info == nullptr || info->si_code <= 0) ::raise(number);
}

void watch_signals() {
  struct sigaction action {};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (int number : kFatal) ::sigaction(number, &action, &before[number]);
}

void unwatch_signals() {
  for (int number : kFatal) ::sigaction(number, &before[number], nullptr);
}

void* map_file(const std::string& path, size_t bytes) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  struct stat info {};
  bool sized = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
               (static_cast<size_t>(info.st_size) == bytes ||
                (::ftruncate(fd, 0) == 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0));
  // Allocates the blocks: a store into a hole of a full disk would raise a fatal signal.
  sized = sized && ::posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0;
  void* memory =
      sized ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Without a file the threads still write to this memory, which is never read.
void* map_nothing(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

// Checks the slots four times a second.
class CrashBook::Watch {
 public:
  explicit Watch(CrashBook& book) : thread_([this, &book] { run(book); }) {}
  ~Watch() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wakes_.notify_all();
    thread_.join();
  }

 private:
  void run(CrashBook& book) {
    std::unique_lock lock(mutex_);
    while (!wakes_.wait_for(lock, kBeat, [&] { return stopping_; })) book.beat();
  }

  std::mutex mutex_;
  std::condition_variable wakes_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

std::unique_ptr<CrashBook> CrashBook::open(const std::string& path) {
  std::unique_ptr<CrashBook> book(new CrashBook());
  void* memory = map_file(path, sizeof(Page));
  if (memory == nullptr) {
    log::warning("the crash book cannot be written: work that kills the server is not detected",
                 {{"path", path}});
    memory = map_nothing(sizeof(Page));
    if (memory == nullptr) return book;
  }
  book->page_ = static_cast<Page*>(memory);
  book->read_last_process();
  book->collect_suspects();
  book->begin_page();
  return book;
}

void CrashBook::read_last_process() {
  Page& page = *page_;
  bool known = std::memcmp(page.magic, kMagic, sizeof kMagic) == 0;
  for (const Count& count : page.counts)
    known = known && count.deaths <= kDeathsSane && count.group <= 4;
  if (!known) std::memset(static_cast<void*>(&page), 0, sizeof page);
  if (page.running.load() == 0) {
    std::memset(static_cast<void*>(page.counts), 0, sizeof page.counts);
    return;
  }
  uint32_t mark = page.mark.load();
  if (mark != 0) {
    if (mark <= kSlots) blame(mark - 1);
    return;
  }
  if (std::optional<size_t> slot = only_new_command()) blame(*slot);
  for (size_t i = 0; i < kSlots; ++i) {
    const WorkSlot& slot = page.slots[i];
    bool at_it_for_long = slot.beats >= kBeatsToBlame && slot.seen == slot.serial;
    bool may_wait = slot.kind == static_cast<uint32_t>(WorkKind::Action) ||
                    slot.kind == static_cast<uint32_t>(WorkKind::World);
    if (at_it_for_long && !may_wait) blame(i);
  }
}

std::optional<size_t> CrashBook::only_new_command() const {
  std::optional<size_t> found;
  for (size_t i = 0; i < kSlots; ++i) {
    const WorkSlot& slot = page_->slots[i];
    if (slot.command == 0) continue;
    if (found) return std::nullopt;
    found = i;
  }
  if (!found) return std::nullopt;
  const WorkSlot& slot = page_->slots[*found];
  bool is_new = slot.seen != slot.serial || slot.beats < kBeatsOfANewCommand;
  return is_new ? found : std::nullopt;
}

void CrashBook::blame(size_t index) {
  const WorkSlot& slot = page_->slots[index];
  Group group = group_of(slot.kind);
  if (group == Group::None || (slot.id_hi == 0 && slot.id_lo == 0)) return;
  Count* place = nullptr;
  for (Count& count : page_->counts) {
    bool same = count.deaths != 0 && count.id_hi == slot.id_hi && count.id_lo == slot.id_lo &&
                count.group == static_cast<uint32_t>(group);
    if (same) {
      place = &count;
      break;
    }
    if (place == nullptr || count.deaths < place->deaths) place = &count;
  }
  bool same = place->id_hi == slot.id_hi && place->id_lo == slot.id_lo &&
              place->group == static_cast<uint32_t>(group);
  if (!same) *place = Count{};
  place->id_hi = slot.id_hi;
  place->id_lo = slot.id_lo;
  place->group = static_cast<uint32_t>(group);
  // Skip from the earliest event that kills.
  place->sequence =
      place->sequence == 0 ? slot.sequence.load() : std::min(place->sequence, slot.sequence.load());
  ++place->deaths;
  place->signal = page_->mark == 0 ? 0 : page_->signal.load();
  log::warning("the last process died while working on a run, job or world",
               {{"id", Uuid{slot.id_hi, slot.id_lo}.text()},
                {"doing", name_of(group)},
                {"deaths", std::to_string(place->deaths)},
                {"signal", std::to_string(place->signal)}});
}

void CrashBook::collect_suspects() {
  for (const Count& count : page_->counts) {
    if (count.deaths < kDeathsMax) continue;
    Suspect suspect;
    suspect.id = Uuid{count.id_hi, count.id_lo};
    suspect.signal = count.signal;
    suspect.doing = name_of(static_cast<Group>(count.group));
    if (count.group == static_cast<uint32_t>(Group::Fold)) suspect.fold_sequence = count.sequence;
    for (const Count& other : page_->counts)
      if (other.id_hi == count.id_hi && other.id_lo == count.id_lo) suspect.deaths += other.deaths;
    const bool is_world = count.group == static_cast<uint32_t>(Group::World);
    (is_world ? suspect_worlds_ : suspects_).push_back(std::move(suspect));
  }
}

void CrashBook::begin_page() {
  Page& page = *page_;
  std::memset(static_cast<void*>(page.slots), 0, sizeof page.slots);
  page.mark = 0;
  page.signal = 0;
  std::memcpy(page.magic, kMagic, sizeof kMagic);
  page.running = 1;
  set_work_slots(page.slots, kSlots);
  fatal_slots = page.slots;
  fatal_signal = &page.signal;
  fatal_mark = &page.mark;
  watch_signals();
  watch_ = std::make_unique<Watch>(*this);
}

void CrashBook::beat() {
  for (WorkSlot& slot : page_->slots) {
    uint64_t serial = slot.serial.load(std::memory_order_relaxed);
    bool same = slot.kind.load(std::memory_order_relaxed) != 0 && slot.seen == serial;
    slot.beats = same ? slot.beats + 1 : 0;
    slot.seen = serial;
  }
  if (++beats_ != kBeatsToForgive) return;
  std::lock_guard lock(mutex_);
  std::memset(static_cast<void*>(page_->counts), 0, sizeof page_->counts);
}

std::vector<Suspect> CrashBook::suspects() const {
  std::lock_guard lock(mutex_);
  return suspects_;
}

std::vector<Suspect> CrashBook::suspect_worlds() const {
  std::lock_guard lock(mutex_);
  return suspect_worlds_;
}

void CrashBook::settled(const Uuid& id) {
  std::lock_guard lock(mutex_);
  std::erase_if(suspects_, [&](const Suspect& suspect) { return suspect.id == id; });
  if (page_ == nullptr) return;
  for (Count& count : page_->counts)
    if (count.id_hi == id.hi && count.id_lo == id.lo) count = Count{};
}

CrashBook::~CrashBook() {
  if (page_ == nullptr) return;
  watch_.reset();
  unwatch_signals();
  fatal_mark = nullptr;
  set_work_slots(nullptr, 0);
  page_->running = 0;
}

}  // namespace pawl
