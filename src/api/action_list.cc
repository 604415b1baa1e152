// GET /v1/actions: the actions of steps, with the schemas of their parameters and outputs.
#include "actions/action.h"
#include "api/app.h"
#include "api/routes.h"

namespace pawl::api {
namespace {

void list_actions(App& app, Call&& call) {
  json::ObjectWriter w;
  w.key("actions").begin_array();
  for (const actions::ActionInfo& info :
       app.actions() == nullptr ? actions::builtin_actions() : app.actions()->list()) {
    w.begin_object().field("name", info.name).field("description", info.description);
    w.field_raw("params_schema", info.params_schema.json());
    w.field_raw("output_schema", info.output_schema.json()).end_object();
  }
  w.end_array();
  call.answer(json_response(Surface::V1, 200, w.close()));
}

}  // namespace

void add_action_routes(Router& router) {
  router.add({"GET", "/v1/actions", Permission::Read, Routing::Here, list_actions});
}

}  // namespace pawl::api
