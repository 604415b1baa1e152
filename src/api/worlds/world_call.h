// A call about one world: read on the I/O thread, decided by an order of the world
// (worldhost/world_host.h), answered when that is durable.
//
// Idempotency-Key on a call that writes: its answer is kept with what it wrote, and given again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/app.h"
#include "api/body.h"
#include "api/paging.h"
#include "worldhost/timed_judge.h"
#include "worldhost/world_host.h"

namespace pawl::api {

// A call and its body, for as long as something points into them.
struct WorldRequest {
  explicit WorldRequest(Call&& given) : call(std::move(given)) {}
  Call call;
  json::Doc doc;                      // of calls with a JSON body
  std::vector<Complaint> warnings;    // of a lenient call: members that are not known
  std::unique_ptr<TimedJudge> judge;  // of calls with a program
  json::View body() const { return doc.root(); }
};
using WorldRequestPtr = std::shared_ptr<WorldRequest>;

// Reads the body and refuses unknown members; null if the call was answered.
WorldRequestPtr read_world_call(Call&& call, std::initializer_list<std::string_view> members,
                                bool empty_is_fine = false);
WorldRequestPtr bare_world_call(Call&& call);  // without a body, or with one that is no JSON

using WorldWork = std::function<Reply(WorldSession&)>;
struct WorldCallRules {
  bool writes = false;                                    // refused by a quarantined world
  bool takes_missing = false;                             // there may be no such world
  bool alone = false;                                     // it takes long
  std::function<void(bool is_given)> answered = nullptr;  // whether the work's answer was
  std::function<void(const worlds::Program&, std::vector<std::string>&)> needs = nullptr;
};
// `name`: as in the path or body, without tenant.
void answer_from_world(App& app, const WorldRequestPtr& request, const std::string& name,
                       WorldWork work, WorldCallRules rules = {});

http::Response world_reply(std::string body, int status = 200);
Error no_such_world(std::string_view name);

// Members of replies that several calls share.
void write_world(json::Writer& w, const worlds::Head& head);
void write_world_members(json::Writer& w, const worlds::Head& head);  // without braces
// {valid, errors[], warnings[]} of a manifest, as members.
void write_faults(json::Writer& w, std::string_view name, const std::vector<Complaint>& faults);
// Reads the body of a call with a program, and judges its code here, on the pool for compiling: a
// world's worker would hold up other worlds as long as the compiler takes. Null if the call was
// answered.
WorldRequestPtr read_program_call(App& app, Call&& call,
                                  std::initializer_list<std::string_view> members);
// The manifest and nodes of such a body. With a world, what it holds already need not come along.
// Unavailable if there is no runtime, or the code takes too long to compile.
Result<worlds::ProgramText> read_program_text(WorldRequest& request, WorldSession* session);
Error invalid_manifest(const worlds::ProgramText& text);

// {schema, value or value_b64, lens?, key?}, and client_id if `fields` may have one: complains
// about what is wrong and what is not known. The event points into the body.
worlds::GivenEvent read_event_fields(const Call& call, Fields& fields);

// The canonical keys that a text of a query may mean, the likeliest first: a text key bare, other
// keys as sugar JSON. Without a module, or for one that the live program does not have (null), of
// any type.
std::vector<std::string> keys_of_query(const worlds::Module* module, const std::string& text);

// One call looks through no more frames of a journal than this; its cursor goes on.
constexpr uint64_t kFramesScannedMax = 100'000;
// Nor at more items, if a filter passes over most of them.
constexpr size_t kItemsScannedMax = 100'000;

std::vector<std::string> comma_separated(const std::string& text);  // "" = none

constexpr size_t kWorldPageUsual = 100;  // of every list, that of worlds included

// A part of a list in the order of item keys.
struct WorldPage {
  size_t limit = kWorldPageUsual;
  std::string from;  // item key; "" = from the start
};
Result<WorldPage> world_page(const Call& call);

// The reply {name: […], next_cursor?} of one page, entry by entry.
class WorldList {
 public:
  WorldList(std::string_view name, const WorldPage& page);
  // Whether the entry of this key is on the page, and must be written; if not, the next page
  // begins with it.
  bool takes(std::string_view item_key);
  // Ends the page before this entry, which was not looked at.
  void cut(std::string_view item_key) { next_ = item_key; }
  json::Writer& writer() { return writer_; }
  http::Response reply();

 private:
  std::string body_;
  json::Writer writer_;
  PageFill fill_;
  std::string next_;
};

}  // namespace pawl::api
