#include "api/routes.h"

namespace pawl::api {

void add_all_routes(Router& router) {
  add_job_routes(router);
  add_event_routes(router);
  add_event_channel_routes(router);
  add_job_result_routes(router);
  add_patch_job_routes(router);
  add_bulk_push_routes(router);
  add_queue_call_routes(router);
  add_workflow_progress_routes(router);
  add_maintenance_routes(router);
  add_webhook_routes(router);
  add_metrics_routes(router);
  add_status_page_routes(router);
  add_worker_routes(router);
  add_workflow_routes(router);
  add_run_routes(router);
  add_run_change_routes(router);
  add_queue_routes(router);
  add_queue_config_routes(router);
  add_rate_limit_routes(router);
  add_job_list_routes(router);
  add_bulk_job_routes(router);
  add_dead_letter_routes(router);
  add_cron_routes(router);
  add_checkpoint_routes(router);
  add_progress_routes(router);
  add_admin_stats_routes(router);
  add_worker_state_routes(router);
  add_pool_routes(router);
  add_schema_routes(router);
  add_schedule_routes(router);
  add_definition_routes(router);
  add_script_routes(router);
  add_decision_routes(router);
  add_secret_routes(router);
  add_action_routes(router);
  add_key_routes(router);
  add_system_routes(router);
  add_cluster_routes(router);
  add_world_routes(router);
  add_world_event_routes(router);
  add_world_effect_routes(router);
  add_world_instance_routes(router);
  add_world_governance_routes(router);
}

}  // namespace pawl::api
