// A job as Open Job Spec clients see it.
#pragma once

#include "base/json_writer.h"
#include "kernel/state.h"

namespace pawl::api {

// The whole envelope as one JSON object. Pure: equal jobs render equal.
void render_job(json::Writer& w, const Job& job);

// Members only, for replies that put more beside them.
void render_job_members(json::Writer& w, const Job& job);

void render_error(json::Writer& w, const JobError& error);

// The job with this id, if there is one and the tenant ("" = everyone) may see it; NotFound
// otherwise.
Result<const Job*> visible_job(const State& state, const JobId& id, std::string_view tenant);
Result<const Job*> visible_job(const State& state, std::string_view id_text,
                               std::string_view tenant);

}  // namespace pawl::api
