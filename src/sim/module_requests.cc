#include "sim/module_requests.h"

namespace pawl::sim {

void ModuleRequests::send(const std::string& story, const std::function<ModuleOrder()>& make) {
  const FaultMix& mix = world_.mix();
  if (random_.percent(mix.request_lost)) return verdict_.tell(story + " (request lost)");
  const bool twice = random_.percent(mix.request_doubled);
  const bool reply_lost = random_.percent(mix.reply_lost);
  verdict_.tell(story + (twice ? " (sent twice)" : reply_lost ? " (reply lost)" : ""));
  for (int i = twice ? 2 : 1; i > 0; --i) {
    ModuleOrder order = make();
    if (reply_lost) order.done = nullptr;
    if (random_.percent(mix.request_late)) {
      on_the_way_.emplace_back(story, std::move(order));
    } else {
      post(story, std::move(order));
    }
  }
}

void ModuleRequests::post(const std::string& story, ModuleOrder order) {
  if (!world_.modules()->is_up()) return;
  WorldOrder given;
  given.alone = order.alone;
  given.work = std::move(order.work);
  given.done = [this, story, done = std::move(order.done)](const Status& outcome) {
    if (verdict_.failed()) return;
    if (!outcome.ok())
      return verdict_.tell("  refused: " + story + ": " + std::string(outcome.error().wire) + " " +
                           outcome.error().message);
    verdict_.tell("  done: " + story);
    if (done) done();
  };
  (void)world_.modules()->host().post(order.world, std::move(given)).ok();
}

void ModuleRequests::deliver_late() {
  if (on_the_way_.empty()) return;
  std::swap(on_the_way_[random_.below(on_the_way_.size())], on_the_way_.back());
  auto [story, order] = std::move(on_the_way_.back());
  on_the_way_.pop_back();
  verdict_.tell(story + " (arrives late)");
  post(story, std::move(order));
}

}  // namespace pawl::sim
