// ActionRunner: starts actions on the right thread (here, on a pool, on the HTTP client) and
// ensures that each is answered once.
#include <sys/stat.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>

#include "actions/action.h"
#include "actions/fs_actions.h"
#include "actions/fs_error.h"
#include "actions/http_actions.h"
#include "actions/http_client.h"
#include "actions/pure_actions.h"
#include "actions/shell_action.h"
#include "actions/stop_signal.h"
#include "actions/work_pool.h"
#include "base/plant.h"
#include "base/quote.h"
#include "base/working_on.h"

namespace pawl::actions {
namespace {

constexpr size_t kWaitingMax = 10'000;
// A larger answer is not parsed on the HTTP thread.
constexpr size_t kParsedHereBytesMax = 64 * 1024;
// Nor are secrets masked there if they and the answer are larger together: each byte of a secret
// has about fifty in its spellings.
constexpr size_t kBlottedHereBytesMax = 1024;

ActionOutcome cancelled() {
  return ActionOutcome::failure("CANCELLED", "the action was cancelled", false);
}

ActionOutcome overloaded() {
  return ActionOutcome::failure("ACTION_UNAVAILABLE", "too many actions are waiting", true);
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Whether processing the answer is expensive.
bool is_dear(const ActionRequest& request, const Result<HttpResponse>& result) {
  size_t answered = 0;
  if (result.ok()) {
    answered = result->body.size();
    for (const auto& [name, value] : result->headers) answered += name.size() + value.size();
  }
  if (request.secrets.empty()) return answered > kParsedHereBytesMax;
  for (const expr::Secret& secret : request.secrets) answered += secret.text.size();
  return answered > kBlottedHereBytesMax;
}

// A run's directory is created on first use.
void make_directory(const std::string& path) {
  if (path.empty() || path[0] != '/') return;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) return;
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    ::mkdir(path.substr(0, at).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
}

}  // namespace

class ActionRunner::Impl {
 public:
  Impl(ActionPolicy policy, uint32_t threads)
      : policy_(std::move(policy)),
        quick_(std::make_unique<WorkPool>(threads, kWaitingMax, true)),
        processes_(std::make_unique<WorkPool>(threads, kWaitingMax)),
        http_(std::make_unique<HttpClient>(HttpClientConfig{
            .keep_private = true, .may_begin = [gate = gate_] { return gate->open(); }})) {}

  ~Impl() {
    std::map<uint64_t, std::shared_ptr<Task>> live;
    {
      std::lock_guard lock(mutex_);
      live = tasks_;
    }
    for (auto& [handle, task] : live) task->stop.raise();
    gate_->stop();
    // In this order: a late HTTP answer may use the pool for parsing.
    http_.reset();
    quick_.reset();
    processes_.reset();
    for (auto& [handle, task] : live) finish(handle, cancelled());
  }

  uint64_t start(ActionRequest request, ActionDone done) {
    auto task = std::make_shared<Task>(request.timeout_ms);
    uint64_t handle = ++last_handle_;
    task->handle = handle;
    task->request = std::move(request);
    task->done = std::move(done);
    {
      std::lock_guard lock(mutex_);
      tasks_.emplace(handle, task);
    }
    guarded(*task, [&] { dispatch(task); });
    return handle;
  }

  void cancel(uint64_t handle) {
    std::shared_ptr<Task> task;
    {
      std::lock_guard lock(mutex_);
      auto at = tasks_.find(handle);
      if (at == tasks_.end()) return;
      task = at->second;
    }
    task->stop.raise();
    // The thread that moves it from Waiting answers it.
    Stage waiting = Stage::Waiting;
    if (task->stage.compare_exchange_strong(waiting, Stage::Ended)) {
      finish(handle, cancelled());
      return;
    }
    if (uint64_t number = task->http_number) http_->cancel(number);
  }

  Status add(ActionInfo info, Callable callable) {
    if (info.name.empty() || !callable)
      return Error{ErrorCode::InvalidRequest, "an action needs a name and something to call"};
    std::lock_guard lock(mutex_);
    if (find_action(info.name) != nullptr || own_.contains(info.name))
      return Error{ErrorCode::Conflict, "there is an action " + in_quotes(info.name) + " already"};
    std::string name = info.name;
    own_.emplace(std::move(name),
                 std::make_shared<const Own>(Own{std::move(info), std::move(callable)}));
    return ok_status();
  }

  Status remove(std::string_view name) {
    std::lock_guard lock(mutex_);
    auto at = own_.find(name);
    if (at == own_.end())
      return Error{ErrorCode::NotFound, "there is no own action " + in_quotes(std::string(name))};
    own_.erase(at);
    return ok_status();
  }

  const std::shared_ptr<ByteGate>& gate() const { return gate_; }

  std::vector<ActionInfo> list() const {
    std::vector<ActionInfo> all = builtin_actions();
    std::lock_guard lock(mutex_);
    for (const auto& [name, own] : own_) all.push_back(own->info);
    return all;
  }

 private:
  struct Own {
    ActionInfo info;
    Callable callable;
  };

  enum class Stage : uint8_t { Starting, Waiting, Running, Ended };

  struct Task {
    explicit Task(int64_t timeout_ms) : stop(timeout_ms) {}
    uint64_t handle = 0;
    ActionRequest request;
    ActionDone done;
    StopSignal stop;
    std::atomic<Stage> stage{Stage::Starting};
    std::atomic<uint64_t> http_number{0};
  };
  using TaskPtr = std::shared_ptr<Task>;

  std::shared_ptr<const Own> find_own(const std::string& name) const {
    std::lock_guard lock(mutex_);
    auto at = own_.find(name);
    return at == own_.end() ? nullptr : at->second;
  }

  void dispatch(const TaskPtr& task) {
    ActionRequest& request = task->request;
    const ActionInfo* info = find_action(request.name);
    std::shared_ptr<const Own> own = info == nullptr ? find_own(request.name) : nullptr;
    if (own != nullptr) info = &own->info;
    if (info == nullptr)
      return fail(task, "NOT_FOUND", "there is no action " + in_quotes(request.name));
    if (Status good = check_params(*info, request.params); !good.ok())
      return fail(task, "VALIDATION_ERROR", good.error().message);
    if (own != nullptr) return start_own(task, own);
    if (PureAction pure = find_pure_action(request.name)) return start_pure(task, pure);
    if (info->by_engine)
      return fail(task, "VALIDATION_ERROR", request.name + " is done by the engine itself");
    if (starts_with(request.name, "http.")) return start_http(task);
    if (request.name == "shell.exec")
      return wait(*processes_, task, [this, task] {
        make_directory(task->request.work_directory);
        return run_shell_action(task->request, policy_, task->stop);
      });
    wait(*quick_, task, [this, task] {
      make_directory(task->request.work_directory);
      return run_fs_action(task->request, policy_, task->stop);
    });
  }

  // Most cost less than a thread switch; the calling thread may be the engine's, so an action that
  // exceeds the small budget is repeated on the pool.
  void start_pure(const TaskPtr& task, PureAction pure) {
    expr::Budget here(kPureHere);
    ActionOutcome outcome = pure(task->request, here);
    if (here.exceeded() == expr::Budget::Exceeded::None)
      return finish(task->handle, std::move(outcome));
    wait(*quick_, task, [task, pure] { return pure(task->request); });
  }

  void start_own(const TaskPtr& task, const std::shared_ptr<const Own>& own) {
    if (own->info.pure) return finish(task->handle, own->callable(task->request));
    wait(*quick_, task, [task, own] {
      ActionOutcome outcome = own->callable(task->request);
      return task->stop.raised() ? cancelled() : outcome;
    });
  }

  void wait(WorkPool& pool, const TaskPtr& task, std::function<ActionOutcome()> work) {
    Stage starting = Stage::Starting;
    task->stage.compare_exchange_strong(starting, Stage::Waiting);
    bool added = pool.add([this, task, work = std::move(work)] {
      gate_->wait_until_open();
      Stage waiting = Stage::Waiting;
      if (!task->stage.compare_exchange_strong(waiting, Stage::Running)) return;
      guarded(*task, [&] {
        Status in_time = keep_going(task->stop);
        finish(task->handle, in_time.ok() ? work() : fs_outcome(in_time.error()));
      });
    });
    if (!added) return finish(task->handle, overloaded());
    // It may have been cancelled before it could be seen waiting.
    if (task->stop.raised()) cancel(task->handle);
  }

  void start_http(const TaskPtr& task) {
    auto request = http_request_of(task->request, policy_);
    if (!request.ok()) return fail(task, "VALIDATION_ERROR", request.error().message);
    auto started = std::chrono::steady_clock::now();
    task->stage = Stage::Running;
    uint64_t number =
        http_->send(std::move(request).value(), [this, task, started](Result<HttpResponse> result) {
          auto duration = std::chrono::duration_cast<std::chrono::milliseconds>(
              std::chrono::steady_clock::now() - started);
          finish_http(task, std::move(result), duration.count());
        });
    task->http_number = number;
    if (task->stop.raised()) http_->cancel(number);
  }

  void finish_http(const TaskPtr& task, Result<HttpResponse> result, int64_t duration_ms) {
    if (task->stop.raised()) return finish(task->handle, cancelled());
    auto shared = std::make_shared<Result<HttpResponse>>(std::move(result));
    auto held = ByteGate::hold(gate_, shared->ok() ? (*shared)->body.size() : 0);
    auto answer = [this, task, shared, duration_ms, held] {
      guarded(*task, [&] {
        finish(task->handle, http_outcome(task->request, std::move(*shared), duration_ms));
      });
    };
    if (is_dear(task->request, *shared))
      quick_->add_answer(answer);
    else
      answer();
  }

  // An exception from a library (no memory, an unexpected length) fails this action, not the
  // server.
  void guarded(const Task& task, auto&& work) {
    WorkingOn working(WorkKind::Action, Uuid::parse(task.request.run_id).value_or(Uuid{}));
    try {
      if (planted == Plant::Action) abort_if_planted(planted, task.request.params.json());
      work();
    } catch (const std::exception& thrown) {
      finish(task.handle,
             ActionOutcome::failure(
                 "EXECUTION_ERROR",
                 std::string("the action failed inside the server: ") + thrown.what(), false));
    }
  }

  void fail(const TaskPtr& task, const char* code, std::string message) {
    finish(task->handle, ActionOutcome::failure(code, std::move(message), false));
  }

  // Only the first answer counts, and it is given outside the lock.
  void finish(uint64_t handle, ActionOutcome outcome) {
    TaskPtr task;
    {
      std::lock_guard lock(mutex_);
      auto at = tasks_.find(handle);
      if (at == tasks_.end()) return;
      task = std::move(at->second);
      tasks_.erase(at);
    }
    task->stage = Stage::Ended;
    task->done(std::move(outcome));
  }

  const ActionPolicy policy_;
  const std::shared_ptr<ByteGate> gate_ = std::make_shared<ByteGate>(kAnswerBytesMax);
  mutable std::mutex mutex_;
  std::map<uint64_t, TaskPtr> tasks_;                                   // guarded by mutex_
  std::map<std::string, std::shared_ptr<const Own>, std::less<>> own_;  // guarded by mutex_
  std::atomic<uint64_t> last_handle_{0};
  std::unique_ptr<WorkPool> quick_;      // files and own actions
  std::unique_ptr<WorkPool> processes_;  // separate, so that slow commands do not delay file
                                         // actions
  std::unique_ptr<HttpClient> http_;
};

ActionRunner::ActionRunner(ActionPolicy policy, uint32_t threads)
    : impl_(std::make_unique<Impl>(std::move(policy), threads)) {}

ActionRunner::~ActionRunner() = default;

uint64_t ActionRunner::start(ActionRequest request, ActionDone done) {
  return impl_->start(std::move(request), std::move(done));
}

void ActionRunner::cancel(uint64_t handle) { impl_->cancel(handle); }

Status ActionRunner::add(ActionInfo info, Callable callable) {
  return impl_->add(std::move(info), std::move(callable));
}

Status ActionRunner::remove(std::string_view name) { return impl_->remove(name); }

std::vector<ActionInfo> ActionRunner::list() const { return impl_->list(); }

const std::shared_ptr<ByteGate>& ActionRunner::gate() const { return impl_->gate(); }

}  // namespace pawl::actions
