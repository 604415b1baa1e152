#include "main/served_partition.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "engine/crash_book.h"

namespace pawl {
namespace {

constexpr int64_t kSettingsWaitMs = 10'000;
constexpr int64_t kSweepMsMax = 300'000;

std::string crash_book_of(const std::string& directory, uint16_t partition) {
  return directory +
         (partition == 0 ? "/crash.book" : "/crash-" + std::to_string(partition) + ".book");
}

// Bounds of memory and of what a restart folds hold for the process: partitions share them.
void share_bounds(EngineConfig& engine, uint16_t partitions) {
  CoreConfig& core = engine.core;
  StateConfig& state = core.state;
  for (size_t* bound :
       {&core.dirty_max, &core.tail_bytes_max, &state.resident_jobs_max,
        &state.resident_job_bytes_max, &state.resident_runs_max, &state.resident_run_bytes_max,
        &state.resident_text_bytes_max, &state.plan_bytes_max, &state.timer_window_max,
        &state.resident_doc_bytes_max, &engine.inputs_max})
    *bound = std::max<size_t>(1024, *bound / partitions);
  // A bound of the whole server is divided, rounded up.
  uint64_t& runs = state.scripts.max_concurrent;
  runs = (runs + partitions - 1) / partitions;
}

EngineConfig engine_config(const PartitionSurroundings& around, uint16_t partition,
                           OutboxBell& bell) {
  EngineConfig engine = around.options.engine;
  const uint16_t partitions = around.server.config().partitions;
  if (partitions == 1) return engine;
  share_bounds(engine, partitions);
  engine.core.state.partition = partition;
  engine.core.state.partitions = partitions;
  engine.core.outbox_bell = &bell;
  // Together the partitions look for what is old about as often as one does alone: each look reads.
  engine.core.retention.sweep_every_ms =
      std::min(kSweepMsMax, engine.core.retention.sweep_every_ms * partitions);
  if (around.on_ready)
    engine.core.on_ready = [ready = around.on_ready, partition](const std::string& queue) {
      ready(partition, queue);
    };
  return engine;
}

RuntimeSetup runtime_setup(const PartitionSurroundings& around, uint16_t partition,
                           std::unique_ptr<Store> store, OutboxBell& bell) {
  const ServeOptions& options = around.options;
  const bool memory = options.store == "memory";
  const uint16_t partitions = around.server.config().partitions;
  RuntimeSetup setup;
  setup.store = std::move(store);
  if (!memory) {
    setup.data_dir = options.data_dir;
    setup.crash_book = crash_book_of(options.data_dir, partition);
  }
  // The vault's key is beside the store; without a directory there are no secrets.
  setup.vault = around.vault;
  if (!memory && around.vault == nullptr) setup.vault_key = options.data_dir + "/vault.key";
  if (const char* passphrase = std::getenv("PAWL_VAULT_KEY")) setup.vault_passphrase = passphrase;
  setup.owner_only = true;  // files of runs are private
  setup.work_root = options.work_root.empty()
                        ? WorkRoot::in(setup.data_dir)
                        : WorkRoot{std::filesystem::absolute(options.work_root).string()};
  setup.work_root.partition = partition;
  setup.work_root.partitions = partitions;
  setup.policy = options.actions;
  setup.policy.fs.off_limits = {std::filesystem::absolute(options.data_dir).string()};
  if (memory) setup.policy.fs.off_limits.push_back(setup.work_root.path);
  setup.threads = partitions == 1 ? options.action_threads
                                  : std::max<uint32_t>(2, options.action_threads / partitions);
  setup.engine = engine_config(around, partition, bell);
  return setup;
}

WorldHostConfig worlds_config(const ServeOptions& options, const Runtime& runtime,
                              uint16_t partition, uint16_t partitions) {
  WorldHostConfig config;
  config.partition = partition;
  config.threads = partitions == 1 ? options.worlds_threads : 1;
  config.finished_ms = options.engine.core.retention.finished_ms;
  config.journal_ms = options.engine.core.retention.journal_ms;
  config.verify_every_ms = options.worlds_verify_ms;
  if (runtime.crash_book() != nullptr) config.crashed = runtime.crash_book()->suspect_worlds();
  return config;
}

}  // namespace

ServedPartition::ServedPartition(const PartitionSurroundings& around, uint16_t partition,
                                 std::unique_ptr<Store> store)
    : id_(partition), runtime_(runtime_setup(around, partition, std::move(store), bell_)) {}

Result<std::unique_ptr<ServedPartition>> ServedPartition::start(const PartitionSurroundings& around,
                                                                uint16_t partition,
                                                                std::unique_ptr<Store> store) {
  std::unique_ptr<ServedPartition> served(new ServedPartition(around, partition, std::move(store)));
  PAWL_TRY_DO(served->runtime_.open());
  served->begin(around);
  return served;
}

ServedPartition::~ServedPartition() { stop(); }

void ServedPartition::begin(const PartitionSurroundings& around) {
  const ServeOptions& options = around.options;
  const uint16_t partitions = around.server.config().partitions;
  EngineLoop& engine = runtime_.engine();
  app_ = std::make_unique<api::App>(around.server, engine, runtime_.store(), runtime_.clock());
  app_->use_actions(&runtime_.runner(), runtime_.vault());
  worlds_ =
      std::make_unique<WorldService>(worlds_config(options, runtime_, id_, partitions), engine,
                                     runtime_.clock(), options.actions, runtime_.vault());
  app_->use_worlds(&worlds_->host());
  app_->load();
  log_ = std::make_unique<LogFollower>(engine);
  webhooks_ = std::make_unique<WebhookService>(
      engine, runtime_.store(), runtime_.clock(), around.outgoing, app_->metrics().webhooks,
      SenderConfig{.vault = runtime_.vault(), .allow_private = options.app.webhooks_allow_private});
  app_->on_webhooks_change([this] { webhooks_->ring(); });
  if (partitions == 1) return;
  courier_ = std::make_unique<Courier>(
      *around.desk, CourierConfig{.partition = id_, .partitions = partitions}, around.transport);
  courier_->start(engine, bell_);
  app_->use_pass_on(around.pass_on);
  if (id_ == 0)
    app_->use_settings_gate([this](std::function<void(Status)> done) {
      courier_->when_all_taken(kSettingsWaitMs, std::move(done));
    });
}

// Who is called by another ends before it.
void ServedPartition::stop() {
  if (std::exchange(stopped_, true) || !app_) return;
  if (!app_->draining()) app_->begin_drain();
  if (courier_) courier_->stop();
  webhooks_->stop();
  worlds_->stop();
  runtime_.stop_effects();
  runtime_.engine().stop();
  log_->stop();
  app_->settle();
}

}  // namespace pawl
