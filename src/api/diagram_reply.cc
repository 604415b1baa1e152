#include "api/diagram_reply.h"

#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "plan/definition.h"

namespace pawl::api {
namespace {

class TakeSource : public WaitingTask {
 public:
  explicit TakeSource(std::function<Result<DiagramSource>(const State&)> take)
      : take_(std::move(take)) {}
  std::optional<Parking> decide(Frame& frame, bool) override {
    source = take_(frame.state());
    return std::nullopt;
  }
  bool only_reads() const override { return true; }
  Result<DiagramSource> source = DiagramSource();

 private:
  std::function<Result<DiagramSource>(const State&)> take_;
};

Result<http::Response> draw(const DiagramSource& source, plan::DiagramFormat format) {
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
  auto format = plan::parse_diagram_format(call.query("format"));
  if (!format.ok()) return call.fail(format.error());
  auto taking = std::make_shared<TakeSource>(std::move(take));
  if (Status ran = WaitingTask::run(app.engine(), taking); !ran.ok()) return call.fail(ran.error());
  if (!taking->source.ok()) return call.fail(taking->source.error());
  auto response = draw(*taking->source, *format);
  response.ok() ? call.answer(std::move(*response)) : call.fail(response.error());
}

}  // namespace pawl::api
