#include "kernel/run_parts.h"

#include <algorithm>

#include "kernel/keys.h"

namespace pawl {
namespace {

constexpr char kElsewhere = '\x01';
constexpr size_t kMarkBytes = 9;

template <class Visit>
void each_text(Scope& scope, Visit&& visit) {
  visit(scope.item);
  for (StepRecord& record : scope.records) {
    visit(record.output);
    visit(record.items);
  }
}

template <class Visit>
void each_text(ScriptRun& script, Visit&& visit) {
  visit(script.inputs);
  visit(script.output);
  for (KeptSignal& signal : script.signals) visit(signal.payload);
  for (Variable& variable : script.variables) visit(variable.value);
}

template <class Holder>
void bring(Cold& cold, const RunId& run, Holder& holder) {
  holder.parts.clear();
  each_text(holder, [&](Text& text) {
    if (text.size() != kMarkBytes || text[0] != kElsewhere) return;
    uint64_t part = 0;
    for (size_t i = 1; i < kMarkBytes; ++i) part = part << 8 | static_cast<uint8_t>(text[i]);
    auto row = cold.get(Space::Part, part_row_key(run, part));
    if (!row) unreadable_row("text of run", run.text());
    static_cast<std::string&>(text) = std::move(*row);
    text.part = part;
    holder.parts.push_back(part);
  });
}

}  // namespace

std::string part_row_key(const RunId& run, uint64_t part) {
  std::string key = run.bytes();
  put_big_endian(key, part, 8);
  return key;
}

void TextsAside::take(Text& text) {
  if (text.size() < kPartBytesMin) return;
  if (text.part == 0) {
    text.part = run_.script->next_part++;
    out_.push_back({Space::Part, part_row_key(run_.id, text.part), text});
  }
  now_.push_back(text.part);
  std::string mark(1, kElsewhere);
  put_big_endian(mark, text.part, 8);
  static_cast<std::string&>(text).swap(mark);
  aside_.emplace_back(&text, std::move(mark));
}

void TextsAside::take(ScriptRun& script) {
  each_text(script, [&](Text& text) { take(text); });
}

void TextsAside::take(Scope& scope) {
  each_text(scope, [&](Text& text) { take(text); });
}

TextsAside::~TextsAside() {
  for (auto& [text, kept] : aside_) static_cast<std::string&>(*text).swap(kept);
  std::sort(now_.begin(), now_.end());
  for (uint64_t part : parts_)
    if (!std::binary_search(now_.begin(), now_.end(), part))
      out_.push_back({Space::Part, part_row_key(run_.id, part), std::nullopt});
  parts_ = std::move(now_);
}

void bring_texts(Cold& cold, const RunId& run, ScriptRun& script) { bring(cold, run, script); }

void bring_texts(Cold& cold, const RunId& run, Scope& scope) { bring(cold, run, scope); }

}  // namespace pawl
