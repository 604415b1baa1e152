#include "api/past_run.h"

#include <variant>

#include "api/body.h"
#include "api/run_view.h"
#include "base/read_number.h"
#include "base/time.h"
#include "engine/retrospect.h"
#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "plan/ojs/parse_workflow.h"

namespace pawl::api {
namespace {

struct Position {
  uint64_t sequence = 0;  // 0: a time
  int64_t time_ms = 0;
};

Result<Position> parse_position(const std::string& text) {
  Position position;
  if (read_number(text, position.sequence) && position.sequence > 0) return position;
  position.sequence = 0;
  auto time = parse_rfc3339(text);
  if (!time.ok())
    return Error{ErrorCode::InvalidRequest,
                 "at: neither a position in the journal nor a time like 2026-01-31T09:30:00Z"};
  position.time_ms = *time;
  return position;
}

http::Response render(const Call& call, const Retrospect& past, const StepWindow& window) {
  const Run& run = past.run();
  bool pace = call.query("format") == "pace";
  if (auto shown = pace ? view_of(run).pace(past.state(), run) : std::nullopt)
    return json_response(Surface::V1, 200, std::move(*shown));
  std::string body = run_body(past.state(), run, window);
  PAWL_CHECK(!body.empty() && body.back() == '}');
  body.pop_back();
  json::ObjectWriter at;
  at.field_int("seq", past.moment().sequence);
  at.field_time("time", past.moment().time_ms);
  return json_response(Surface::V1, 200, body + ",\"at\":" + at.close() + "}");
}

Reply render_past_run(App& app, const Call& call, const RunId& id, const Position& position,
                      const StepWindow& window) {
  int64_t created_ms = 0;  // where to begin reading; a deleted run may have existed at that time
  auto look = [&](const Frame& frame) {
    if (const Run* run = frame.state().find_run(id)) created_ms = run->created_ms;
  };
  PAWL_TRY_DO(run_on_engine(app.engine(), look, false));
  Store& store = app.store();
  PAWL_TRY(auto past, position.sequence != 0
                          ? Retrospect::at_sequence(store, id, created_ms, position.sequence)
                          : Retrospect::at_time(store, id, created_ms, position.time_ms));
  if (!call.tenant.empty() && past->run().tenant != call.tenant)
    return Error{ErrorCode::NotFound, "run " + call.params[0].substr(0, 128) + " not found"};
  http::Response response;
  PAWL_TRY_DO(reading([&] { response = render(call, *past, window); }));
  return response;
}

}  // namespace

void answer_past_run(App& app, Call&& call, const StepWindow& window) {
  PAWL_TRY_CALL(call, auto position, parse_position(call.query("at")));
  RunId id = workflow_id(call.params[0], app.config().partitions);
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [&app, shared, id, window, position] {
    auto response = render_past_run(app, *shared, id, position, window);
    response.ok() ? shared->answer(std::move(*response)) : shared->fail(response.error());
  };
  if (Status taken = app.readers().run(work); !taken.ok()) shared->fail(taken.error());
}

}  // namespace pawl::api
