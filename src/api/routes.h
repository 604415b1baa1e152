// Every endpoint family and where its routes are added. routes.cc lists them all.
#pragma once

#include "api/router.h"

namespace pawl::api {

void add_all_routes(Router& router);

void add_job_routes(Router& router);                // ojs/jobs.cc
void add_event_routes(Router& router);              // ojs/events.cc
void add_event_channel_routes(Router& router);      // ojs/event_channels.cc
void add_job_result_routes(Router& router);         // ojs/job_result.cc
void add_patch_job_routes(Router& router);          // ojs/patch_job.cc
void add_bulk_push_routes(Router& router);          // ojs/bulk_push.cc
void add_queue_call_routes(Router& router);         // ojs/queue_calls.cc
void add_workflow_progress_routes(Router& router);  // ojs/workflow_progress.cc
void add_maintenance_routes(Router& router);        // ojs/maintenance.cc
void add_webhook_routes(Router& router);            // ojs/webhooks.cc
void add_metrics_routes(Router& router);            // metrics_page.cc
void add_status_page_routes(Router& router);        // status_page.cc
void add_workflow_routes(Router& router);           // ojs/workflows.cc
void add_run_routes(Router& router);                // runs.cc
void add_run_change_routes(Router& router);         // run_changes.cc
void add_worker_routes(Router& router);             // ojs/worker_calls.cc
void add_queue_routes(Router& router);              // ojs/queues.cc
void add_queue_config_routes(Router& router);       // ojs/queue_config.cc
void add_rate_limit_routes(Router& router);         // ojs/rate_limits.cc
void add_job_list_routes(Router& router);           // ojs/job_lists.cc
void add_bulk_job_routes(Router& router);           // ojs/bulk_jobs.cc
void add_dead_letter_routes(Router& router);        // ojs/dead_letter.cc
void add_cron_routes(Router& router);               // ojs/cron.cc
void add_checkpoint_routes(Router& router);         // ojs/checkpoints.cc
void add_progress_routes(Router& router);           // ojs/progress.cc
void add_admin_stats_routes(Router& router);        // ojs/admin_stats.cc
void add_worker_state_routes(Router& router);       // ojs/worker_states.cc
void add_pool_routes(Router& router);               // ojs/pools.cc
void add_schema_routes(Router& router);             // ojs/schemas.cc
void add_schedule_routes(Router& router);           // schedules.cc
void add_definition_routes(Router& router);         // definitions.cc
void add_script_routes(Router& router);             // script_calls.cc
void add_decision_routes(Router& router);           // decisions.cc
void add_secret_routes(Router& router);             // secrets.cc
void add_action_routes(Router& router);             // action_list.cc
void add_key_routes(Router& router);                // key_calls.cc
void add_system_routes(Router& router);             // system.cc
void add_cluster_routes(Router& router);            // cluster.cc
void add_world_routes(Router& router);              // worlds/worlds.cc
void add_world_event_routes(Router& router);        // worlds/events.cc
void add_world_effect_routes(Router& router);       // worlds/effects.cc
void add_world_instance_routes(Router& router);     // worlds/instances.cc
void add_world_governance_routes(Router& router);   // worlds/governance.cc

}  // namespace pawl::api
