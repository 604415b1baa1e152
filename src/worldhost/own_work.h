// The pieces of the server's own effects: requests, and jobs and runs that an effect makes. Any
// thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "actions/http_client.h"
#include "worldhost/own_adapter.h"

namespace pawl {

// http.request
Result<actions::HttpRequest> own_request(const worlds::Intent& intent, std::string_view params,
                                         const actions::ActionPolicy& policy);
OwnReceipt receipt_of_response(Result<actions::HttpResponse> response);

// job.run, run.start. The id follows from the world and the intent: asked for again, it is the same
// job or run. (Test worlds of equal seeds may have equal intents.)
Uuid id_of_work(const Uuid& world, const worlds::Intent& intent, std::string_view hash,
                uint16_t partition);
struct WorkState {
  bool over = false;
  OwnReceipt receipt;
};
using WorkSeen = std::function<void(Result<WorkState>)>;
// Makes it unless it was made; tells how it stands once that is durable. Returns at once. That it
// was made is noted with it, until its intent is settled: retention may take what has ended before
// its receipt is there. `world`: as the host names it.
void start_own_work(EngineLine& line, const std::string& world, const Uuid& id,
                    const worlds::Intent& intent, const std::string& hash, WorkSeen seen);
// Intents of this kind have such a note.
bool makes_work(std::string_view kind);
void look_at_work(EngineLine& line, const Uuid& id, bool is_job, WorkSeen seen);

// Whether a record of the journal may hold the end of a job or of a definition's run; and their
// ids.
bool may_hold_ends(std::string_view record);
void each_ended(std::string_view record, FunctionRef<void(const Uuid&)> visit);

}  // namespace pawl
