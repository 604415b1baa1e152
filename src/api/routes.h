// Every endpoint family and where its routes are added. routes.cc lists them all.
#pragma once

#include "api/router.h"

namespace pawl::api {

void add_all_routes(Router& router);

void add_job_routes(Router& router);     // ojs/jobs.cc
void add_worker_routes(Router& router);  // ojs/worker_calls.cc
void add_system_routes(Router& router);  // system.cc

}  // namespace pawl::api
