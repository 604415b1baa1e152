// WebhookService: everything that turns events into deliveries, started and stopped as one.
//
// stop() before the engine stops; it waits for the requests under way.
#pragma once

#include "api/app.h"
#include "api/webhook_dispatcher.h"
#include "api/webhook_sender.h"

namespace pawl::api {

class WebhookService {
 public:
  WebhookService(App& app, actions::HttpClient& client);
  ~WebhookService();
  void stop();

 private:
  WebhookSender sender_;
  WebhookDispatcher dispatcher_;
};

}  // namespace pawl::api
