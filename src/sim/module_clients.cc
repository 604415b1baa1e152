#include "sim/module_clients.h"

#include "worlds/frame.h"

namespace pawl::sim {
namespace {

constexpr size_t kSentKept = 30;

}  // namespace

void ModuleClients::post_event() {
  Sent sent;
  const bool again = !sent_.empty() && random_.percent(25);
  if (again) {
    sent = random_.pick(sent_);
  } else {
    sent.world = draw_world();
    if (random_.percent(70)) sent.client = "client" + std::to_string(requests_.next_serial() % 200);
    const bool is_fan = random_.percent(20);
    std::string value = R"({"key":")" + std::string(1, static_cast<char>('a' + random_.below(5))) +
                        R"(","id":)" + std::to_string(random_.below(40)) + R"(,"script":")" +
                        draw_script(0) + "\"}";
    if (random_.percent(2)) value = R"({"key":"a","id":-1,"script":""})";
    sent.text = R"({"schema":")" + std::string(is_fan ? "sim/Fan@1" : "sim/Do@1") +
                R"(","value":)" + value + "}";
    if (sent_.size() >= kSentKept) sent_.erase(sent_.begin());
    sent_.push_back(sent);
  }
  send("event for " + sent.world + " " + sent.client + " " + sent.text, [&] {
    struct Seen {
      Uuid id;
      worlds::EventReply reply;
    };
    auto seen = std::make_shared<Seen>();
    auto body = std::make_shared<RequestBody>(sent.text);
    Order order{.world = sent.world, .work = {}, .done = {}};
    order.work = [seen, body, client = sent.client](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(auto program, session.program());
      worlds::GivenEvent given;
      given.schema = body->doc.root().find("schema")->string();
      given.value = body->doc.root().find("value");
      given.client_id = client;
      PAWL_TRY(worlds::Event event, worlds::judge_event(*program, given));
      seen->id = session.id();
      PAWL_TRY(seen->reply, session.frame([&](worlds::Deciding& deciding) {
        return worlds::post_event(deciding, event);
      }));
      return ok_status();
    };
    order.done = [this, seen, client = sent.client] {
      const ModelWorld* known = model().find(seen->id);
      const worlds::EventReply& reply = seen->reply;
      auto at = known == nullptr ? std::map<uint64_t, ModelEvent>::const_iterator()
                                 : known->events.find(reply.seq);
      if (known == nullptr || at == known->events.end() || at->second.hash != reply.event_hash ||
          at->second.client != client)
        return verdict_.fail("module acknowledged",
                             "event " + std::to_string(reply.seq) + " is not in the journal");
      if (!client.empty()) {
        auto [told, fresh] =
            acked_.emplace(std::pair(seen->id, client), std::pair(reply.seq, reply.event_hash));
        if (told->second != std::pair(reply.seq, reply.event_hash))
          return verdict_.fail("module client ids", client + " was acknowledged twice");
      }
      if (reply.duplicate) return verdict_.reach(Probe::ModuleEventRepeated);
      std::vector<ModulePlace> targets;
      for (const worlds::Delivery& each : reply.deliveries)
        targets.emplace_back(each.module, each.key.value_or(""));
      verdict_.expect(targets == at->second.targets, "module deliveries",
                      "the reply lists other deliveries");
    };
    return order;
  });
}

}  // namespace pawl::sim
