#include "effects/webhook_service.h"

namespace pawl {

WebhookService::WebhookService(EngineLoop& engine, Store& store, Clock& clock,
                               actions::HttpClient& client, WebhookCounts& counts,
                               const SenderConfig& config)
    : sender_(engine, clock, client, counts, config), dispatcher_(engine, store) {}

WebhookService::~WebhookService() { stop(); }

void WebhookService::stop() {
  dispatcher_.stop();
  sender_.stop();
}

}  // namespace pawl
