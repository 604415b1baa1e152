#include "sim/module_operators.h"

#include "worldhost/own_adapter.h"
#include "worlds/frame.h"
#include "worlds/governance.h"

namespace pawl::sim {

void ModuleOperators::about_an_instance(bool retry) {
  const auto& runs = model().runs();
  if (runs.empty()) return;
  auto at = runs.begin();
  std::advance(at, static_cast<ptrdiff_t>(random_.below(runs.size())));
  for (size_t i = 0; retry && i < runs.size() && at->second.to != InstanceState::Failed; ++i)
    if (++at == runs.end()) at = runs.begin();
  const InstanceMoved& run = at->second;
  send(std::string(retry ? "retry " : "cancel ") + run.module + " of " + run.world_name, [&] {
    struct Seen {
      Uuid id;
      ModulePlace place;
      uint64_t seq = 0;
      std::string value;
    };
    auto seen = std::make_shared<Seen>();
    Order order{.world = run.world_name, .work = {}, .done = {}};
    order.work = [this, seen, retry, id = run.run](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      auto place = session.place_of(id);
      if (!place) return Error{ErrorCode::NotFound, "there is no such run"};
      auto& calls = world_.modules()->code().calls;
      calls.clear();
      PAWL_TRY_DO(session.frame([&](worlds::Deciding& deciding) {
        return retry ? worlds::retry_instance(deciding, place->first, place->second)
                     : worlds::terminate_instance(deciding, place->first, place->second);
      }));
      seen->id = session.id();
      seen->place = *place;
      seen->seq = session.world().head().height;
      seen->value = calls.empty() ? "" : calls.front().value;
      return ok_status();
    };
    order.done = [this, seen, retry] {
      const ModelWorld* known = model().find(seen->id);
      auto of = known->instances.find(seen->place);
      if (!retry || of == known->instances.end() || of->second.retried_seq != seen->seq) return;
      const ModelInstance& instance = of->second;
      const std::string& wanted =
          instance.retried_value.empty() ? instance.retried_intent : instance.retried_value;
      verdict_.expect(seen->value.find(wanted) != std::string::npos, "module retry",
                      "another input than the one that failed was delivered again");
    };
    return order;
  });
}

void ModuleOperators::system_effect() {
  const bool timer = random_.percent(30);
  const std::string kind = timer ? "timer.set" : random_.percent(20) ? "sim.denied" : "sim.call";
  const int64_t at_ns = (world_.now_ms() + random_.between(-500, 5'000)) * 1'000'000;
  const std::string params =
      timer ? R"({"deliver_at_ns":)" + std::to_string(at_ns) + "}"
            : R"({"key":"s","id":)" + std::to_string(requests_.next_serial()) + R"(,"n":0})";
  const std::string name = draw_world();
  send("effect " + kind + " of the operator in " + name, [&] {
    struct Seen {
      Uuid id;
      worlds::EmittedEffect effect;
    };
    auto seen = std::make_shared<Seen>();
    auto body = std::make_shared<RequestBody>(params);
    Order order{.world = name, .work = {}, .done = {}};
    order.work = [seen, body, kind, timer](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(seen->effect, session.frame([&](worlds::Deciding& deciding) {
        return worlds::emit_system_effect(deciding, kind, body->doc.root(),
                                          timer ? "g_timer" : "g_sim");
      }));
      seen->id = session.id();
      return ok_status();
    };
    order.done = [this, seen] {
      const ModelWorld* known = model().find(seen->id);
      const std::string& hash = seen->effect.intent_hash;
      verdict_.expect(known->intents.count(hash) + known->forgotten.count(hash) == 1,
                      "module acknowledged", "an operator's effect is not in the journal");
    };
    return order;
  });
}

void ModuleOperators::move_test_clock() {
  move_test_clock(draw_world(), random_.between(0, 3'000));
}

void ModuleOperators::move_test_clock(const std::string& name, int64_t by_ms) {
  send("test clock of " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [by_ms](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      worlds::Head head = session.world().head();
      if (!head.test) return Error{ErrorCode::Conflict, "not a test world"};
      const int64_t now_ns = head.test_now_ns + by_ms * 1'000'000;
      PAWL_TRY(uint64_t fired, OwnAdapter::fire_until(session, nullptr, now_ns));
      (void)fired;
      head = session.world().head();
      head.test_now_ns = now_ns;
      session.put(worlds::head_key(), codec::encoded(head));
      return ok_status();
    };
    return order;
  });
}

void ModuleOperators::trouble() {
  const bool timeout = random_.percent(50);
  verdict_.tell(timeout ? "a call will take too long" : "a call will find no runtime");
  world_.modules()->code().next =
      timeout ? NativeModules::Trouble::Timeout : NativeModules::Trouble::Unavailable;
}

}  // namespace pawl::sim
