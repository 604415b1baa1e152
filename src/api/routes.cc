#include "api/routes.h"

namespace pawl::api {

void add_all_routes(Router& router) {
  add_job_routes(router);
  add_worker_routes(router);
  add_system_routes(router);
}

}  // namespace pawl::api
