#include "sim/module_governance.h"

#include "worldhost/own_adapter.h"
#include "worlds/frame.h"
#include "worlds/governance.h"

namespace pawl::sim {
namespace {

Status to_status(auto outcome) {
  return outcome.ok() ? ok_status() : Status(std::move(outcome).failure());
}

}  // namespace

Result<worlds::ProgramText> ModuleGovernance::candidate(WorldSession& session, uint64_t number) {
  const RequestBody body(module_program(number));
  const json::View root = body.doc.root();
  PAWL_TRY(worlds::ProgramText text,
           worlds::read_program(
               root.find("manifest"), root.find("nodes"),
               [&](std::string_view hash) {
                 return session.exists() ? session.world().node(hash) : std::nullopt;
               },
               [&](std::string_view hash) {
                 return session.exists() ? session.world().blob(hash) : std::nullopt;
               },
               session.modules()));
  if (!text.faults.empty())
    verdict_.fail("crowd", "its manifest is refused: " + text.faults.front().path + " " +
                               text.faults.front().code + " " + text.faults.front().message);
  model().program_is(text.manifest_hash, number);
  return text;
}

void ModuleGovernance::create(const std::string& name) {
  const uint64_t number = random_.below(kModulePrograms);
  worlds::NewWorld made;
  made.name = name;
  made.created_ms = world_.now_ms();
  made.test = random_.percent(20);
  made.seed = "seed " + std::to_string(random_.below(4));
  made.test_now_ns = made.test ? world_.now_ms() * 1'000'000 : 0;
  send("create world " + name + (made.test ? " (test)" : ""), [&] {
    const uint64_t a = random_.next();  // a call that does not name an id gets its own
    made.id = Uuid::v7(world_.now_ms(), a, random_.next(), 0);
    Order order;
    order.world = name;
    order.alone = true;
    order.work = [this, made, number](WorldSession& session) -> Status {
      if (session.exists()) return Error{ErrorCode::Conflict, "there is one already"};
      PAWL_TRY(worlds::ProgramText text, candidate(session, number));
      session.create(
          made.id, [&](worlds::Deciding& deciding) { worlds::create_world(deciding, made, text); });
      OwnAdapter::make_keys(session, session.world().head(), nullptr);
      return ok_status();
    };
    order.done = [this, id = made.id] {
      const ModelWorld* known = model().find(id);
      verdict_.expect(known != nullptr && known->height > 0, "module acknowledged",
                      "a world was made and is not in the journal");
    };
    return order;
  });
}

void ModuleGovernance::remove() {
  const std::string name = draw_world();
  send("remove world " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [](WorldSession& session) -> Status {
      if (!session.exists()) return Error{ErrorCode::NotFound, "there is no such world"};
      session.remove_world();
      return ok_status();
    };
    return order;
  });
}

void ModuleGovernance::propose() {
  const uint64_t number = random_.below(kModulePrograms);
  const bool based = random_.percent(30);
  const std::string name = draw_world();
  const ModelWorld* known = model().named(name);
  const std::string base = based && known != nullptr ? known->manifest_hash : "";
  send("propose program " + std::to_string(number) + " to " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, number, base](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(worlds::ProgramText text, candidate(session, number));
      return to_status(session.frame([&](worlds::Deciding& deciding) {
        return worlds::propose(deciding, text, base.empty() ? std::nullopt : std::optional(base),
                               "drawn");
      }));
    };
    return order;
  });
}

void ModuleGovernance::about_a_proposal() {
  const std::string name = draw_world();
  const ModelWorld* known = model().named(name);
  if (known == nullptr || known->proposals.empty()) return propose();
  auto at = known->proposals.begin();
  std::advance(at, static_cast<ptrdiff_t>(random_.below(known->proposals.size())));
  if (random_.percent(60)) at = std::prev(known->proposals.end());
  const std::string id = "p" + std::to_string(at->first);
  static constexpr std::string_view kVerbs[] = {"shadow", "shadow", "approve", "approve",
                                                "apply",  "apply",  "reject"};
  const std::string verb(kVerbs[random_.below(std::size(kVerbs))]);
  const uint64_t height = known->height;
  const std::optional<uint64_t> from =
      random_.percent(50) ? std::optional(1 + random_.below(height + 1)) : std::nullopt;
  auto body = std::make_shared<RequestBody>(
      R"({"schema":"sim/Do@1","value":{"key":"a","id":3,"script":")" + draw_script(0) + "\"}}");
  send(verb + " " + id + " of " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, id, verb, from, body](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      if (verb == "approve" || verb == "reject")
        return to_status(session.frame([&](worlds::Deciding& deciding) {
          return verb == "approve" ? worlds::approve(deciding, id) : worlds::reject(deciding, id);
        }));
      PAWL_TRY(worlds::Proposal proposal, worlds::named_proposal(session.world(), id));
      PAWL_TRY(auto program,
               worlds::load_program(proposal.manifest_hash, [&](std::string_view hash) {
                 return session.world().node(hash);
               }));
      if (verb == "apply") {
        const worlds::QueuedWork queued{world_.modules()->host().queued(session)};
        return to_status(session.frame([&](worlds::Deciding& deciding) {
          return worlds::apply_program(deciding, id, program, queued);
        }));
      }
      worlds::ShadowOrder shadow;
      shadow.proposal_id = id;
      shadow.from_seq = from;
      worlds::GivenEvent event;
      event.schema = "sim/Do@1";
      event.value = body->doc.root().find("value");
      shadow.events.push_back(event);
      NativeModules& code = world_.modules()->code();
      code.is_replay = true;
      auto shadowed = session.frame(
          [&](worlds::Deciding& deciding) { return worlds::shadow(deciding, shadow, program); });
      code.is_replay = false;
      return to_status(shadowed);
    };
    return order;
  });
}

void ModuleGovernance::apply_directly() {
  const std::string name = draw_world();
  const uint64_t number = random_.below(kModulePrograms);
  send("apply program " + std::to_string(number) + " to " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, number](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(worlds::ProgramText text, candidate(session, number));
      const worlds::QueuedWork queued{world_.modules()->host().queued(session)};
      return to_status(session.frame([&](worlds::Deciding& deciding) {
        worlds::keep_program_text(deciding.world(), deciding.writes(), text);
        return worlds::apply_program(deciding, "", text.program, queued);
      }));
    };
    return order;
  });
}

}  // namespace pawl::sim
