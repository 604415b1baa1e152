#include "api/diagram_reply.h"

#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "plan/definition.h"

namespace pawl::api {
namespace {

Reply draw(const DiagramSource& source, plan::DiagramFormat format) {
  PAWL_TRY(auto script, plan::compile_canonical(source.canonical));
  PAWL_TRY_DO(plan::check_drawable(*script, format));
  plan::StepStatuses statuses;
  for (const PlacedStatus& placed : source.statuses)
    statuses[join_path(placed.scope, script->at(placed.list, placed.position).id)] = placed.status;
  http::Response response;
  response.status = 200;
  response.content_type = std::string(plan::diagram_content_type(format));
  response.body = plan::draw_diagram(*script, format, source.of_run ? &statuses : nullptr);
  return response;
}

}  // namespace

void answer_diagram(App& app, Call&& call,
                    std::function<Result<DiagramSource>(const State&)> take) {
  PAWL_TRY_CALL(call, auto format, plan::parse_diagram_format(call.query("format")));
  Result<DiagramSource> source = DiagramSource();
  auto look = [&](const Frame& frame) { source = take(frame.state()); };
  if (Status ran = run_on_engine(app.engine(), look, true); !ran.ok())
    return call.fail(ran.error());
  if (!source.ok()) return call.fail(source.error());
  auto response = draw(*source, format);
  response.ok() ? call.answer(std::move(*response)) : call.fail(response.error());
}

}  // namespace pawl::api
