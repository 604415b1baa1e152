// A job as Open Job Spec clients see it.
#pragma once

#include "base/json_writer.h"
#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class State;
struct Job;

// The whole envelope as one JSON object. Pure: equal jobs in equal states render equal.
void render_job(json::Writer& w, const State& state, const Job& job);

// Members only, without those about its workflow, for replies with further members.
void render_job_members(json::Writer& w, const Job& job);

// {the members, "job": {the same}}: some clients read one, some the other. previous: the state
// before the call, JobState::None if unchanged. always_errors: includes an empty `errors`, too.
std::string job_body(const State& state, const Job& job, JobState previous = JobState::None,
                     bool always_errors = false);

void render_error(json::Writer& w, const JobError& error);

Error no_such_job(std::string_view id_text);

// The job with this id, if there is one and the tenant ("" = everyone) may see it; NotFound
// otherwise.
Result<const Job*> visible_job(const State& state, const JobId& id, std::string_view tenant);
Result<const Job*> visible_job(const State& state, std::string_view id_text,
                               std::string_view tenant);

}  // namespace pawl
