// WebhookService: the dispatcher and the sender of webhooks, started and stopped together.
//
// stop() before the engine stops; it waits for running requests.
#pragma once

#include "effects/webhook_dispatcher.h"
#include "effects/webhook_sender.h"

namespace pawl {

class WebhookService {
 public:
  WebhookService(EngineLoop& engine, Store& store, Clock& clock, actions::HttpClient& client,
                 WebhookCounts& counts, const SenderConfig& config);
  ~WebhookService();
  // The subscriptions are about to change (WebhookDispatcher::ring). Harmless after stop().
  void ring() { dispatcher_.ring(); }
  void stop();

 private:
  WebhookSender sender_;
  WebhookDispatcher dispatcher_;
};

}  // namespace pawl
