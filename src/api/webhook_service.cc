#include "api/webhook_service.h"

namespace pawl::api {

WebhookService::WebhookService(App& app, actions::HttpClient& client)
    : sender_(app.engine(), app.clock(), client, app.metrics(),
              {.vault = app.vault(), .allow_private = app.config().webhooks_allow_private}),
      dispatcher_(app.engine(), app.store()) {
  app.on_webhooks_change([this] { dispatcher_.ring(); });
}

WebhookService::~WebhookService() { stop(); }

// The bell stays: it rings a stopped dispatcher, which does nothing.
void WebhookService::stop() {
  dispatcher_.stop();
  sender_.stop();
}

}  // namespace pawl::api
