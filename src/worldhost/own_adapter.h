// OwnAdapter: the adapter `pawl`. Performs the effects that the server can do itself (timer.set,
// blob.*, http.request, job.run, run.start) and settles each with a signed receipt, as an input of
// its world like any other.
//
// An effect is performed after its frame is durable, and again after a restart that came before its
// receipt: a request may leave twice, under the same idempotency key; a job or run is made once:
// its id follows from the intent's hash, and that it was made is kept until the intent is settled.
// A receipt that the engine refuses is given again.
//
// Threads: any. stop() before the engine and the HTTP client end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "actions/action.h"
#include "actions/http_client.h"
#include "worldhost/secrets.h"
#include "worldhost/world_host.h"

namespace pawl {

struct OwnReceipt {
  std::string status = "ok";  // ok, error, timeout
  std::string payload;        // canonical CBOR
};
OwnReceipt failed_receipt(std::string_view code, std::string_view message);

// Sends a request of http.request.
using SendRequest = std::function<void(actions::HttpRequest, actions::HttpClient::Done)>;

class OwnAdapter final : public OwnEffects {
 public:
  // `send`: null = by an HTTP client of its own.
  OwnAdapter(WorldHost& host, const actions::ActionPolicy& policy, const actions::Vault* vault,
             SendRequest send = nullptr);
  ~OwnAdapter() override;

  void perform(const std::string& world, const OpenIntent& intent) override;
  // Blobs are the world's own items: nothing leaves, so their receipts need not wait for the disk,
  // and their place in the journal does not depend on how long that takes.
  void settle_within(WorldSession& session, size_t opened_before) override;
  void fire_timers(const std::string& world) override;
  // Every durable record of the engine: a job or run that an effect made may have ended.
  void follow(std::string_view record);
  // Afterwards nothing is settled; what is at work is performed again after the restart.
  void stop();

  // Fires what is due by now_ns in a test world, as part of an order; counts them.
  static Result<uint64_t> fire_until(WorldSession& session, const actions::Vault* vault,
                                     int64_t now_ns);
  // The key pair of a world that begins.
  static void make_keys(WorldSession& session, const worlds::Head& head,
                        const actions::Vault* vault);

 private:
  // What one effect made that ends by itself: a job, or a run of a definition.
  struct Awaited {
    std::string world, intent;
    bool is_job = false;
  };

  void send_request(const std::string& world, const std::string& hash, const worlds::Intent& full,
                    const std::string& params);
  void look_again(const Uuid& id, const Awaited& to);
  void start_work(const std::string& world, const Uuid& id, const std::string& hash,
                  const worlds::Intent& full);
  void settle(const std::string& world, const std::string& hash, OwnReceipt receipt);

  WorldHost& host_;
  const actions::ActionPolicy& policy_;
  const actions::Vault* vault_;
  SecretOpener secrets_;
  std::unique_ptr<actions::HttpClient> http_;
  const SendRequest send_;
  std::mutex mutex_;
  std::map<Uuid, Awaited> awaited_;  // guarded by mutex_
  bool stopped_ = false;             // guarded by mutex_
};

// A receipt of the adapter `pawl` for an open intent of the session's world; nothing if it is not
// open any more.
Status settle_own(WorldSession& session, const actions::Vault* vault, const std::string& hash,
                  const OwnReceipt& receipt, int64_t clock_ns = 0);

}  // namespace pawl
