#include "plan/list_order.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/quote.h"
#include "plan/nearest.h"

namespace pawl::plan {
namespace {

class Order {
 public:
  Order(Script& script, uint32_t list, const std::vector<Draft>& drafts,
        const std::vector<Cursor>& entries, Findings& findings)
      : script_(script),
        places_(script.lists[list].steps),
        drafts_(drafts),
        entries_(entries),
        findings_(findings) {}

  void settle(bool in_order) {
    name_steps();
    named_by_.resize(places_.size(), 0);
    for (uint32_t i = 0; i < places_.size(); ++i) resolve_fallback(i);
    for (uint32_t i = 0; i < places_.size(); ++i) resolve_dependencies(i);
    if (in_order) add_written_order();
    for (uint32_t i = 0; i < places_.size(); ++i) {
      for (const uint32_t on : step(i).depends_on) step(on).dependents.push_back(i);
    }
    check_fallback_chains();
    check_cycles();
  }

 private:
  Step& step(uint32_t position) { return script_.steps[places_[position]]; }

  void name_steps() {
    for (uint32_t i = 0; i < places_.size(); ++i) {
      const std::string& id = step(i).id;
      if (id.empty()) continue;
      const auto [found, fresh] = positions_.emplace(id, i);
      if (fresh) {
        ids_.push_back(id);
      } else {
        findings_.error(entries_[i], "duplicate",
                        "two steps of one list have the id " + in_quotes(id),
                        "the other one is " + entries_[found->second].path());
      }
    }
  }

  // Why a name is not a sibling, and a suggestion.
  std::string hint_for(const std::string& name) {
    if (findings_.full()) return {};
    const std::string near = meant(name, ids_);
    if (!near.empty()) return near;
    const bool elsewhere = std::any_of(script_.steps.begin(), script_.steps.end(),
                                       [&](const Step& other) { return other.id == name; });
    return elsewhere ? "'" + name + "' is in another list; a step can only name steps beside it"
                     : "";
  }

  void resolve_fallback(uint32_t i) {
    const std::string& name = drafts_[i].fallback;
    if (name.empty()) return;
    const std::optional<Cursor> on_error = entries_[i].field("on_error");
    const Cursor& at = on_error ? *on_error : entries_[i];
    const auto found = positions_.find(name);
    if (found == positions_.end()) {
      findings_.error(at, "unknown_step",
                      "Step '" + step(i).id + "' has an unknown fallback_step '" + name + "'",
                      hint_for(name));
    } else if (found->second == i) {
      findings_.error(at, "value", "Step '" + name + "' cannot be its own fallback");
    } else {
      step(i).fallback = found->second;
      step(found->second).dormant = true;
    }
  }

  void resolve_dependencies(uint32_t i) {
    const Draft& draft = drafts_[i];
    std::vector<uint32_t>& depends_on = step(i).depends_on;
    for (size_t k = 0; k < draft.depends_on.size(); ++k) {
      const std::string& name = draft.depends_on[k];
      const auto found = positions_.find(name);
      if (found == positions_.end()) {
        refuse(i, k, "unknown_step",
               "Step '" + step(i).id + "' has invalid dependency '" + name + "'", hint_for(name));
      } else if (found->second == i) {
        refuse(i, k, "cycle", "Workflow contains cycles: step '" + name + "' depends on itself",
               "");
      } else if (named_by_[found->second] == i + 1) {
        refuse(i, k, "duplicate", "Step '" + step(i).id + "' depends on '" + name + "' twice", "");
      } else {
        depends_on.push_back(found->second);
        named_by_[found->second] = i + 1;
      }
    }
  }

  void refuse(uint32_t i, size_t k, std::string_view code, std::string message, std::string hint) {
    const std::optional<Cursor> field = entries_[i].field(drafts_[i].depends_field);
    if (field && field->is_array() && k < field->value().as_array().size()) {
      findings_.error(field->element(k), code, std::move(message), std::move(hint));
    } else {
      findings_.error(field ? *field : entries_[i], code, std::move(message), std::move(hint));
    }
  }

  void add_written_order() {
    uint32_t before = kNoStep;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (step(i).dormant) continue;
      if (before != kNoStep && drafts_[i].depends_on.empty()) step(i).depends_on.push_back(before);
      before = i;
    }
  }

  // Fallbacks that only call each other in a cycle never run.
  void check_fallback_chains() {
    std::vector<char> called(places_.size(), 0);
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (step(i).dormant) continue;
      for (uint32_t at = step(i).fallback; at != kNoStep && called[at] == 0;
           at = step(at).fallback) {
        called[at] = 1;
      }
    }
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (!step(i).dormant) continue;
      if (called[i] == 0) {
        findings_.error(
            entries_[i], "cycle",
            "Step '" + step(i).id +
                "' can never run: it is a fallback, and only its own fallbacks call it");
      } else if (!step(i).dependents.empty()) {
        findings_.warning(entries_[i], "unreachable",
                          "Step '" + step(i).id + "' is a fallback, and '" +
                              step(step(i).dependents[0]).id + "' waits for it",
                          "depend on the step it stands in for");
      }
    }
  }

  enum class Mark : uint8_t { Fresh, Open, Done };

  // Depth first without recursion: a list may be thousands of steps deep.
  void check_cycles() {
    std::vector<Mark> marks(places_.size(), Mark::Fresh);
    for (uint32_t start = 0; start < places_.size(); ++start) {
      if (marks[start] == Mark::Fresh && !visit(start, marks)) return;
    }
  }

  struct Visit {
    uint32_t position;
    size_t next = 0;
  };

  bool visit(uint32_t start, std::vector<Mark>& marks) {
    std::vector<Visit> path{{start}};
    marks[start] = Mark::Open;
    while (!path.empty()) {
      Visit& top = path.back();
      const std::vector<uint32_t>& depends_on = step(top.position).depends_on;
      if (top.next == depends_on.size()) {
        marks[top.position] = Mark::Done;
        path.pop_back();
        continue;
      }
      const uint32_t on = depends_on[top.next++];
      if (marks[on] == Mark::Open) return report_cycle(path, on), false;
      if (marks[on] == Mark::Fresh) {
        marks[on] = Mark::Open;
        path.push_back({on});
      }
    }
    return true;
  }

  void report_cycle(const std::vector<Visit>& path, uint32_t closing) {
    constexpr size_t kShownMax = 20;
    std::string message = "Workflow contains cycles: ";
    bool implied = false;
    size_t shown = 0;
    auto at = std::find_if(path.begin(), path.end(),
                           [&](const Visit& visit) { return visit.position == closing; });
    for (; at != path.end(); ++at) {
      implied = implied || drafts_[at->position].depends_on.empty();
      if (++shown <= kShownMax) message += step(at->position).id + " -> ";
    }
    if (shown > kShownMax) message += "… -> ";
    message += step(closing).id;
    findings_.error(
        entries_[closing], "cycle", std::move(message),
        implied ? "steps of an inner list run in written order unless depends_on says otherwise"
                : "'a -> b' means that a waits for b");
  }

  Script& script_;
  const std::vector<uint32_t> places_;
  const std::vector<Draft>& drafts_;
  const std::vector<Cursor>& entries_;
  Findings& findings_;
  std::map<std::string, uint32_t, std::less<>> positions_;
  std::vector<std::string_view> ids_;
  std::vector<uint32_t> named_by_;  // the last step that named this one, plus 1
};

}  // namespace

void settle_order(Script& script, uint32_t list, bool in_order, const std::vector<Draft>& drafts,
                  const std::vector<Cursor>& entries, Findings& findings) {
  Order(script, list, drafts, entries, findings).settle(in_order);
}

}  // namespace pawl::plan
