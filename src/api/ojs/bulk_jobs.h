// Bulk operations: one operation on every job that a filter or a list of ids selects, in bounded
// slices.
#pragma once

#include "api/app.h"
#include "api/ojs/job_filter.h"
#include "kernel/jobs/finish_job.h"

namespace pawl::api {

enum class BulkAct : uint8_t {
  Retry,   // discarded → available
  Cancel,  // unfinished jobs
  Delete,  // finished jobs are deleted
  Purge,   // waiting jobs are cancelled, finished ones deleted, running ones kept
};

struct Bulk {
  BulkAct act = BulkAct::Retry;
  JobFilter filter;
  std::vector<JobId> ids;  // if any, these and no others; the filter still counts
  bool dead_only = false;  // walks the dead letter list
};

// Reads {filter?, ids? | job_ids?, confirm}. InvalidRequest without "confirm": true where the
// caller must confirm, and if neither a filter nor ids are given: "filter": {} selects all jobs.
Result<Bulk> parse_bulk(const json::Doc& doc, BulkAct act, std::string_view tenant,
                        bool must_confirm = true);

// Answers {action, matched, succeeded, failed, errors[]} when everything is durable.
void run_bulk(App& app, Call&& call, Bulk bulk);

}  // namespace pawl::api
