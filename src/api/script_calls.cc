// POST /v1/runs and calls on a definition's run: signals, pause, resume, extend, diagram.
#include "actions/params_judge.h"
#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/definition_faults.h"
#include "api/diagram_reply.h"
#include "api/routes.h"
#include "api/runs.h"
#include "base/time.h"
#include "base/url.h"
#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/messages/claims.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/definition.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/render_script.h"
#include "wire/render_workflow.h"

namespace pawl::api {
namespace {

constexpr int64_t kWaitMsMax = 60'000;
constexpr size_t kIdBytesMax = 255;
constexpr size_t kSignalNameMax = 255;

Result<const Run*> visible_script(const State& state, std::string_view text,
                                  std::string_view tenant) {
  PAWL_TRY(const Run* run, visible_run(state, text, tenant));
  if (find_script(state, run->id) == nullptr) {
    Error error{ErrorCode::Conflict, "run " + std::string(text.substr(0, 128)) + " is a " +
                                         std::string(kind_name(run->kind)) +
                                         ", not a run of a definition"};
    if (run->kind == RunKind::Module) error.wire = "run.unsupported";
    return error;
  }
  return run;
}

http::Response run_response(const State& state, const RunId& id, int status) {
  const Run& run = *state.find_run(id);
  http::Response response = json_response(Surface::V1, status, script_run_body(state, run, {}));
  if (status == 201)
    response.headers.emplace_back("Location", "/v1/runs/" + percent_encode(workflow_id_text(run)));
  return response;
}

// --- starting

int64_t wait_of(Fields& fields) {
  auto given = fields.find("wait");
  if (!given) return 0;
  int64_t wait_ms = -1;
  if (given->is_string()) {
    auto parsed = parse_duration_ms(given->string());
    if (parsed.ok()) wait_ms = *parsed;
  } else if (auto seconds = given->as_int()) {
    wait_ms = *seconds * 1000;
  }
  if (wait_ms < 0) fields.complain("wait", "must be a duration such as \"10s\"");
  return std::min(wait_ms, kWaitMsMax);
}

// warnings: of a definition in the request, as JSON; empty if there are none.
Result<StartScript> parse_start(App& app, Call& call, int64_t& wait_ms, std::string& warnings) {
  PAWL_TRY(json::Doc doc, parse_definition_body(call));
  Fields fields(doc.root());
  refuse_unknown(call, fields,
                 {"definition", "version", "inputs", "id", "agent_id", "priority", "wait", "params",
                  "metadata", "name"});
  StartScript command;
  auto definition = fields.find("definition");
  if (!definition) {
    fields.complain("definition", "is required: a name, or a definition itself", "required");
  } else if (definition->is_string()) {
    command.definition = definition->string();
  } else if (definition->is_object()) {
    plan::ReadResult read = read_given(app, call, std::string(definition->raw()));
    if (!read.valid()) return fault_error(read, "definition");
    if (!read.warnings.empty()) warnings = faults_json(read.warnings);
    command.source = read.canonical;
    command.definition = fields.text("name", read.script->name);
  } else {
    fields.complain("definition", "must be a name or an object", "type");
  }
  command.version = fields.text("version");
  command.inputs = fields.raw(fields.has("inputs") ? "inputs" : "params");
  if (!command.inputs.empty() && command.inputs[0] != '{')
    fields.complain("inputs", "must be an object", "type");
  command.agent_id = fields.text("agent_id");
  command.priority = static_cast<int32_t>(fields.integer("priority", 0, -1000, 1000));
  command.meta = fields.raw("metadata");
  wait_ms = wait_of(fields);
  std::string id = fields.text("id");
  if (id.size() > kIdBytesMax) fields.complain("id", "must be at most 255 bytes");
  if (!id.empty()) {
    command.id = workflow_id(id, app.config().partitions);
    if (!RunId::parse(id)) command.client_id = id;
  }
  command.tenant = call.tenant;
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return command;
}

void start(App& app, Call&& call) {
  int64_t wait_ms = 0;
  std::string warnings;
  PAWL_TRY_CALL(call, auto command, parse_start(app, call, wait_ms, warnings));
  RunId begun;
  int64_t until_ms = 0;
  const RunId id = command.id;
  app.decide_claiming(
      std::move(call), [id](Frame& frame) { return claims_of_id(frame.state(), id); },
      [command = std::move(command), wait_ms, begun, until_ms, warnings](
          Frame& frame, Waiting& waiting, const NameAnswers* answers) mutable -> Reply {
        if (begun.is_nil()) {
          if (first_refused(answers) != nullptr)
            return Error{ErrorCode::Duplicate,
                         "a run with the id " +
                             (command.client_id.empty() ? command.id.text() : command.client_id) +
                             " exists already"};
          PAWL_TRY(begun, start_script(frame, command));
          until_ms = frame.now_ms() + wait_ms;
        }
        const Run* run = frame.state().find_run(begun);
        if (run == nullptr) return Error{ErrorCode::NotFound, "the run was deleted meanwhile"};
        bool settled = is_terminal(run->state) || run->script->status == ScriptStatus::Suspended;
        if (!settled && frame.now_ms() < until_ms)
          waiting.parking = Parking{{parking_of(begun)}, until_ms, 0};
        http::Response response = run_response(frame.state(), begun, 201);
        if (warnings.empty()) return response;
        response.body.pop_back();
        response.body += ",\"warnings\":" + warnings + "}";
        return response;
      });
}

// --- steering

// act: Status(Frame&, const RunId&)
void change_run(App& app, Call&& call, auto act) {
  decide_on(app, std::move(call), visible_script, [act](Frame& frame, const Run* run) -> Reply {
    RunId id = run->id;
    PAWL_TRY_DO(act(frame, id));
    return run_response(frame.state(), id, 200);
  });
}

void signal(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  refuse_unknown(call, fields,
                 {"type", "signal_type", "step_id", "payload", "agent_id", "reasoning"});
  ScriptSignal signal;
  signal.type = fields.text(fields.has("type") ? "type" : "signal_type");
  if (signal.type.empty() || signal.type.size() > kSignalNameMax)
    fields.complain("type",
                    "is required: decision, data, cancel, retry, skip, or a name of your own",
                    "required");
  signal.step = fields.text("step_id");
  signal.payload = fields.raw("payload");
  signal.agent_id = fields.text("agent_id");
  signal.reasoning = fields.text("reasoning");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  change_run(app, std::move(call),
             [signal](Frame& frame, const RunId& id) { return signal_script(frame, id, signal); });
}

void pause_run_call(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {"mode", "reason"});
  std::string mode = fields.text("mode", "drain");
  if (mode != "drain" && mode != "now") fields.complain("mode", "must be drain or now");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  change_run(app, std::move(call), [now = mode == "now"](Frame& frame, const RunId& id) {
    return pause_script(frame, id, now);
  });
}

void resume_run_call(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {"reason"});
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  change_run(app, std::move(call),
             [](Frame& frame, const RunId& id) { return resume_script(frame, id); });
}

Result<std::string> text_of_run(const State& state, const Run& run) {
  if (!run.script->source.empty()) return run.script->source;
  const Doc* doc = state.find_doc(DocKind::Definition,
                                  definition_key(run.script->definition, run.script->version));
  StoredDefinition stored;
  if (doc == nullptr || !codec::decode(doc->value, stored))
    return Error{ErrorCode::Conflict, "the text of its definition is gone"};
  return stored.canonical;
}

// The run's text with the new steps appended, checked as a whole.
Result<std::string> extended(App& app, const std::string& canonical, const Value& steps) {
  PAWL_TRY(Value definition, plan::parse_canonical(canonical));
  Value* list = definition.is_object() ? definition.as_object().find("steps") : nullptr;
  if (list == nullptr || !list->is_array())
    return Error{ErrorCode::Conflict, "its definition has no steps"};
  plan::ReadOptions options;
  options.steps_accepted = static_cast<uint32_t>(list->as_array().size());
  options.params = actions::judge_params;
  for (const Value& step : steps.as_array()) list->as_array().push_back(step);
  const std::vector<std::string>& known = app.config().action_names;
  if (!known.empty()) options.actions = &known;
  plan::ReadResult read = plan::read_definition(definition, options);
  if (!read.valid()) return fault_error(read, "");
  return read.canonical;
}

void extend(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {"steps", "reason", "agent_id"});
  auto steps = Value::parse(fields.raw("steps", "null"));
  if (!steps.ok() || !steps->is_array() || steps->as_array().empty())
    fields.complain("steps", "is required: a list of steps", "required");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  std::string data(doc.root().raw());
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  // Checked here, on the pool: the engine only checks that no other call extended it meanwhile.
  Result<std::string> found = std::string();
  auto look = [&](const Frame& frame) {
    auto run = visible_script(frame.state(), text, tenant);
    found = run.ok() ? text_of_run(frame.state(), **run) : Result<std::string>(run.error());
  };
  if (Status ran = run_on_engine(app.engine(), look, true); !ran.ok())
    return call.fail(ran.error());
  PAWL_TRY_CALL(call, std::string before, std::move(found));
  PAWL_TRY_CALL(call, auto whole, extended(app, before, *steps));
  app.decide(std::move(call),
             [text, tenant, data, before = std::move(before),
              canonical = std::move(whole)](Frame& frame) -> Reply {
               PAWL_TRY(const Run* run, visible_script(frame.state(), text, tenant));
               PAWL_TRY(std::string now, text_of_run(frame.state(), *run));
               if (now != before)
                 return Error{ErrorCode::Conflict,
                              "the run was extended by someone else meanwhile; try again"};
               RunId id = run->id;
               PAWL_TRY_DO(extend_script(frame, id, canonical, data));
               return run_response(frame.state(), id, 200);
             });
}

// One part of a run: GET …/steps/{id} and …/context/{name}.
// render: Result<std::string>(const State&, const Run&, part)
void part_of_run(App& app, Call&& call, auto render) {
  std::string part = call.params[1];
  decide_on(app, std::move(call), visible_script,
            [part, render](Frame& frame, const Run* run) -> Reply {
              PAWL_TRY(std::string body, render(frame.state(), *run, part));
              return json_response(Surface::V1, 200, std::move(body));
            });
}

void step(App& app, Call&& call) { part_of_run(app, std::move(call), script_step_body); }
void variable(App& app, Call&& call) {
  part_of_run(app, std::move(call), [](const State&, const Run& run, const std::string& name) {
    return script_variable_body(run, name);
  });
}

void draw_run(App& app, Call&& call) {
  std::string id = call.params[0];
  std::string tenant = call.tenant;
  answer_diagram(app, std::move(call), [id, tenant](const State& state) -> Result<DiagramSource> {
    PAWL_TRY(const Run* run, visible_script(state, id, tenant));
    auto text = text_of_run(state, *run);
    if (!text.ok()) return Error{ErrorCode::NotFound, text.error().message};
    return DiagramSource{std::move(text).value(), true, placed_statuses(state, *run)};
  });
}

}  // namespace

void add_script_routes(Router& router) {
  router.add(
      {"POST", "/v1/runs", Permission::Write, Routing::Create, start, {}, Compiles::Sometimes});
  router.add({"POST", "/v1/runs/{id}/signals", Permission::Write, Routing::ById, signal});
  router.add({"POST", "/v1/runs/{id}/pause", Permission::Operate, Routing::ById, pause_run_call});
  router.add({"POST", "/v1/runs/{id}/resume", Permission::Operate, Routing::ById, resume_run_call});
  router.add({"POST",
              "/v1/runs/{id}/extend",
              Permission::Write,
              Routing::ById,
              extend,
              {},
              Compiles::Always});
  router.add({"GET", "/v1/runs/{id}/steps/{step}", Permission::Read, Routing::ById, step});
  router.add({"GET", "/v1/runs/{id}/context/{name}", Permission::Read, Routing::ById, variable});
  router.add({"GET",
              "/v1/runs/{id}/diagram",
              Permission::Read,
              Routing::ById,
              draw_run,
              {},
              Compiles::Always});
}

}  // namespace pawl::api
