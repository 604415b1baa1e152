#include "sim/effect_world.h"

#include <algorithm>

#include "kernel/meter.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/secret_source.h"
#include "plan/secret_rule.h"

namespace pawl::sim {
namespace {

constexpr size_t kStaleMax = 40;

class NoSecrets : public SecretSource {
 public:
  Result<expr::OpenedSecret> reveal(std::string_view, std::string_view,
                                    const plan::SecretRule&) const override {
    return Error{ErrorCode::NotFound, "there are no secrets"};
  }
};

}  // namespace

class EffectWorld::Prepared : public PreparedEffects {
 public:
  Prepared(EffectWorld& world, std::vector<Work> work) : world_(world), work_(std::move(work)) {}
  void release() override { world_.take(std::move(work_), needs_record); }

  uint64_t needs_record = 0;

 private:
  EffectWorld& world_;
  std::vector<Work> work_;
};

std::unique_ptr<PreparedEffects> EffectWorld::prepare(const State& state,
                                                      std::deque<EffectNote>& notes, int64_t now_ms,
                                                      Meter& meter) {
  static const NoSecrets none;
  std::vector<Work> list;
  while (!notes.empty() && !meter.spent()) {
    EffectNote note = notes.front();
    notes.pop_front();
    meter.charge(1);
    Work work;
    work.run = note.run;
    work.effect = note.effect;
    work.cancel = note.cancel;
    if (!note.cancel) {
      auto request = effect_request(state, note, none, now_ms, &meter);
      if (!request.ok()) {
        work.refusal = request.error().message;
      } else {
        if (request->kind == EffectKind::Gone) continue;
        work.kind = request->kind;
        work.step = request->step;
      }
    }
    list.push_back(std::move(work));
  }
  return std::make_unique<Prepared>(*this, std::move(list));
}

void EffectWorld::may_leave_after(PreparedEffects* effects, uint64_t record) {
  if (effects != nullptr) static_cast<Prepared*>(effects)->needs_record = record;
}

void EffectWorld::take(std::vector<Work> list, uint64_t needs_record) {
  desk_.verdict.expect(desk_.durable_head >= needs_record, "I3 effect",
                       "an effect left before its batch was durable");
  bool recall = std::exchange(first_, false) && plants_.effects_not_recalled;
  for (Work& work : list) {
    if (desk_.verdict.failed()) return;
    if (recall && !work.cancel) continue;
    take_one(std::move(work));
  }
}

void EffectWorld::take_one(Work work) {
  const ScriptModel& model = desk_.model.scripts();
  Key key{work.run, work.effect};
  std::string name = short_name(JobId(work.run)) + " effect " + std::to_string(work.effect);
  bool open = model.is_open(work.run, work.effect);
  if (work.cancel) {
    if (open) return desk_.verdict.fail("I3 effect", name + " was taken back and is waited for");
    auto begun = std::find_if(open_.begin(), open_.end(), [&](const Work& each) {
      return each.run == work.run && each.effect == work.effect;
    });
    if (begun == open_.end()) return;
    desk_.verdict.reach(Probe::EffectTakenBack);
    stale_.push_back(*begun);
    open_.erase(begun);
    if (stale_.size() > kStaleMax) stale_.erase(stale_.begin());
    return;
  }
  if (!open) return desk_.verdict.fail("I3 effect", name + " was asked for and is not waited for");
  if (!asked_.insert(key).second)
    return desk_.verdict.fail("I3 effect", name + " was asked for twice in one life");
  bool before = std::any_of(stale_.begin(), stale_.end(), [&](const Work& each) {
    return each.run == work.run && each.effect == work.effect;
  });
  if (before) desk_.verdict.reach(Probe::EffectRecalled);
  desk_.verdict.tell("  asked: " + name + " " + work.step + work.refusal);
  open_.push_back(std::move(work));
}

void EffectWorld::restarted() {
  for (Work& work : open_) stale_.push_back(std::move(work));
  open_.clear();
  asked_.clear();
  first_ = true;
  while (stale_.size() > kStaleMax) stale_.erase(stale_.begin());
}

void EffectWorld::check_all_asked() const {
  for (const auto& [id, run] : desk_.model.scripts().all()) {
    if (run.forgotten) continue;
    for (const auto& [effect, step] : run.effects)
      if (asked_.count({id, effect}) == 0 && !desk_.model.scripts().has_child(id, effect))
        return desk_.verdict.fail("I3 recall", short_name(JobId(id)) + " waits for effect " +
                                                   std::to_string(effect) + " of " + step +
                                                   ", and nobody was asked");
  }
}

}  // namespace pawl::sim
