#include "embed/host.h"

#include <cstdlib>
#include <filesystem>

#include "actions/secret_binding.h"
#include "embed/definition_text.h"
#include "embed/host_parts.h"
#include "embed/registry.h"
#include "kernel/frame.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/render_workflow.h"

namespace pawl::embed {
namespace {

constexpr size_t kSecretNameMax = 255;

actions::ActionPolicy policy_of(const EngineOptions& options) {
  actions::ActionPolicy policy;
  policy.shell.enabled = options.actions.shell;
  policy.http.allow_private = options.actions.private_addresses;
  policy.fs.confined = !options.actions.any_file;
  return policy;
}

RuntimeSetup setup_of(const EngineOptions& options) {
  RuntimeSetup setup;
  setup.policy = policy_of(options);
  if (options.persistence) {
    setup.data_dir = options.data_dir;
    setup.vault_key = options.data_dir + "/vault.key";
    if (const char* passphrase = std::getenv("PAWL_VAULT_KEY")) setup.vault_passphrase = passphrase;
    setup.policy.fs.off_limits = {std::filesystem::absolute(options.data_dir).string()};
  }
  setup.work_root = WorkRoot::in(setup.data_dir);
  setup.threads = options.execution.parallel_steps ? options.execution.threads : 1;
  return setup;
}

}  // namespace

Host::Parts::Parts(EngineOptions given)
    : options(std::move(given)),
      runtime(setup_of(options)),
      capabilities(runtime.runner(), names, options.monitoring.track_metrics),
      agents(runtime, !options.execution.parallel_steps),
      desk(options, names) {}

Host::Host(EngineOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

// First stop new work, then deliver and write all events, then destroy the engine.
Host::~Host() {
  Parts& parts = *parts_;
  parts.agents.finish();
  if (parts.started) {
    parts.runtime.stop_effects();
    if (parts.events) parts.events->finish();
    if (parts.files) parts.files->finish();
  }
  parts.events.reset();
  parts.files.reset();
  if (parts.started) parts.runtime.engine().stop();
  parts.agents.join();
  parts.runtime.close();
}

Status Host::start() {
  if (parts_->started) return ok_status();
  std::lock_guard lock(parts_->starting);
  if (parts_->started) return ok_status();
  PAWL_TRY_DO(open());
  parts_->started = true;
  return ok_status();
}

Status Host::open() {
  Parts& parts = *parts_;
  PAWL_TRY_DO(parts.runtime.open());
  PAWL_TRY_DO(gather_live());
  Runtime& runtime = parts.runtime;
  EventPosition found{journal::sequence(runtime.records_found() + 1, 0) - 1};
  parts.events = std::make_unique<JournalFollower>(
      runtime.engine(), runtime.store(), found,
      [&desk = parts.desk](const JournalFollower::Page& page) { desk.take(page); });
  if (parts.options.persistence && parts.options.state_backend == "json")
    parts.files = std::make_unique<StateFiles>(runtime, parts.options.data_dir);
  parts.agents.start();
  return ok_status();
}

// Reads live instances of an earlier engine: they count, and keep their chosen names.
Status Host::gather_live() {
  return parts_->runtime.decide([&](Frame& frame) {
    frame.state().each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
      if (!run.script || is_terminal(run.state)) return true;
      if (run.parent.run.is_nil()) parts_->live.insert(run.id);
      parts_->names.add(run.id.text(), workflow_id_text(run));
      return true;
    });
    return ok_status();
  });
}

// --- workflows

Result<std::string> Host::register_workflow(std::string_view text) {
  std::vector<std::string> known;
  for (const actions::ActionInfo& info : parts_->runtime.runner().list())
    known.push_back(info.name);
  auto failed = [](Error error) {
    error.message = "Workflow validation failed: " + error.message;
    return error;
  };
  auto read = read_workflow(text, parts_->options, &known);
  if (!read.ok()) return failed(read.error());
  PAWL_TRY_DO(start());
  std::string version;
  Status put = parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(version, put_workflow(frame, *read));
    return ok_status();
  });
  if (!put.ok())
    return put.error().code == ErrorCode::InvalidContent ? failed(put.error()) : put.error();
  const Value* title = read->script->metadata.find("title");
  parts_->desk.say(
      "Registered workflow: " +
      (title != nullptr && title->is_string() ? title->as_string() : read->script->name) + " (" +
      read->script->name + ")");
  return version;
}

Result<bool> Host::unregister_workflow(const std::string& workflow) {
  PAWL_TRY_DO(start());
  bool removed = false;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(removed, remove_workflow(frame, workflow));
    return ok_status();
  }));
  if (removed) parts_->desk.say("Unregistered workflow: " + workflow);
  return removed;
}

Result<std::vector<std::string>> Host::list_workflows() {
  PAWL_TRY_DO(start());
  std::vector<std::string> names;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) {
    names = workflow_names(frame.state());
    return ok_status();
  }));
  return names;
}

Result<std::string> Host::get_workflow(const std::string& workflow) {
  PAWL_TRY_DO(start());
  std::string text;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    StoredDefinition stored;
    if (find_definition(frame.state(), workflow, "", stored) == nullptr)
      return Error{ErrorCode::NotFound, "Workflow '" + workflow + "' not found"};
    text = stored.canonical;
    return ok_status();
  }));
  return text;
}

// --- what instances call

Status Host::add_capability(const std::string& name, const std::string& schema,
                            Capability capability) {
  return parts_->capabilities.add(name, schema, std::move(capability));
}

bool Host::remove_capability(const std::string& name) { return parts_->capabilities.remove(name); }

std::vector<std::string> Host::list_capabilities() { return parts_->capabilities.names(); }

Status Host::add_agent(Agent agent) { return parts_->agents.add(std::move(agent)); }

bool Host::remove_agent(const std::string& id) { return parts_->agents.remove(id); }

Status Host::set_secret(const std::string& name, const std::string& value) {
  PAWL_TRY_DO(start());
  if (parts_->runtime.vault() == nullptr)
    return Error{ErrorCode::Unsupported, "secrets need persistence"};
  if (name.empty() || name.size() > kSecretNameMax)
    return Error{ErrorCode::InvalidRequest, "a secret needs a name of up to 255 bytes"};
  return parts_->runtime.decide([&](Frame& frame) {
    put_doc(frame, DocKind::Secret, name,
            actions::seal_secret(*parts_->runtime.vault(), name, value, {}));
    return ok_status();
  });
}

// --- watching

Result<std::vector<WorkflowEvent>> Host::events(const std::string& instance, uint64_t after,
                                                size_t limit) {
  PAWL_TRY_DO(start());
  EventFilter filter;
  std::string name;
  EventPosition position = position_of(after);
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    filter.run = run->id.text();
    name = workflow_id_text(*run);
    // No event of it comes before its creation.
    if (uint64_t made = run->script->created_sequence; made > 0)
      position = std::max(position, EventPosition{made - 1});
    return ok_status();
  }));
  std::vector<WorkflowEvent> events;
  for (bool more = true; more && events.size() < limit;) {
    ReadBudget budget;
    budget.events_max = limit - events.size();
    PAWL_TRY(EventPage page, read_events(parts_->runtime.store(), position, filter, budget));
    for (const OjsEvent& event : page.events) {
      if (!event.of_definition) continue;
      events.push_back(parts_->desk.shown(event));
      events.back().instance_id = name;
    }
    position = page.next;
    more = page.more;
  }
  return events;
}

uint64_t Host::add_listener(EventListener listener) {
  return parts_->desk.add(std::move(listener));
}

void Host::remove_listener(uint64_t id) { parts_->desk.remove(id); }

std::string Host::metrics() {
  return Value(Value::Object{{"workflows", parts_->desk.metrics()},
                             {"capabilities", parts_->capabilities.metrics()}})
      .json();
}

}  // namespace pawl::embed
