#include "kernel/scripts/run_parts.h"

#include <algorithm>

#include "kernel/jobs/queue.h"
#include "kernel/keys.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/text.h"
#include "plan/findings.h"

namespace pawl {
namespace {

void each_text(Scope& scope, auto&& visit) {
  visit(scope.item);
  for (StepRecord& record : scope.records) {
    visit(record.output);
    visit(record.items);
  }
}

void each_text(ScriptRun& script, auto&& visit) {
  visit(script.inputs);
  visit(script.output);
  for (KeptSignal& signal : script.signals) visit(signal.payload);
  for (Variable& variable : script.variables) visit(variable.value);
}

void connect(Cold& cold, TextsInMemory& in_memory, const RunId& run, auto& holder) {
  std::shared_ptr<const TextRows> rows;
  holder.parts.clear();
  each_text(holder, [&](Text& text) {
    if (!text.on_disk()) return;
    if (!rows) rows = std::make_shared<const TextRows>(cold, in_memory, run);
    holder.parts.push_back(text.part());
    text.connect(rows);
  });
}

void each_unwritten(Run& run, size_t large_bytes, auto&& visit) {
  auto offer = [&](auto& holder) {
    each_text(holder, [&](Text& text) {
      if (text.part() == 0 && text.size() >= large_bytes) visit(text, holder.parts);
    });
  };
  offer(*run.script);
  for (auto& [path, scope] : run.script->scopes)
    if (scope.dirty && !scope.gone) offer(scope);
}

void add_row(Run& run, Text& text, std::vector<Row>& out) {
  text.set_part(static_cast<uint32_t>(run.script->next_part++));
  out.push_back({Space::Part, part_row_key(run.id, text.part()), std::nullopt, text.share()});
}

}  // namespace

std::string scope_row_key(const RunId& run, std::string_view path) {
  return run.bytes().append(path);
}

std::string part_row_key(const RunId& run, uint64_t part) {
  std::string key = run.bytes();
  put_big_endian(key, part, 8);
  return key;
}

RunId run_of_part(std::string_view row_key) {
  return RunId(*Uuid::from_bytes(row_key.substr(0, row_key.size() - 8)));
}

void TextsAside::take(Text& text) {
  if (text.size() < large_bytes_) return;
  if (text.part() == 0) add_row(run_, text, out_);
  now_.push_back(text.part());
  text.stand_aside(true);
  aside_.push_back(&text);
}

void TextsAside::take(ScriptRun& script) {
  each_text(script, [&](Text& text) { take(text); });
}

void TextsAside::take(Scope& scope) {
  each_text(scope, [&](Text& text) { take(text); });
}

TextsAside::~TextsAside() {
  for (Text* text : aside_) text->stand_aside(false);
  std::sort(now_.begin(), now_.end());
  for (uint64_t part : parts_)
    if (!std::binary_search(now_.begin(), now_.end(), part))
      out_.push_back({Space::Part, part_row_key(run_.id, part), std::nullopt});
  parts_ = std::move(now_);
}

void connect_texts(Cold& cold, TextsInMemory& in_memory, const RunId& run, ScriptRun& script) {
  connect(cold, in_memory, run, script);
}

void connect_texts(Cold& cold, TextsInMemory& in_memory, const RunId& run, Scope& scope) {
  connect(cold, in_memory, run, scope);
}

void release_texts(Cold& cold, TextsInMemory& in_memory, Run& run, size_t large_bytes) {
  auto rows = std::make_shared<const TextRows>(cold, in_memory, run.id);
  auto release = [&](Text& text) {
    if (text.size() >= large_bytes) text.leave_memory(rows);
  };
  each_text(*run.script, release);
  for (auto& [path, scope] : run.script->scopes) each_text(scope, release);
}

size_t bytes_without_row(Run& run, size_t large_bytes) {
  size_t bytes = 0;
  each_unwritten(run, large_bytes,
                 [&](Text& text, std::vector<uint64_t>&) { bytes += text.size(); });
  return bytes;
}

void write_texts_ahead(Run& run, size_t large_bytes, std::vector<Row>& out, size_t bytes_max) {
  size_t bytes = 0;
  each_unwritten(run, large_bytes, [&](Text& text, std::vector<uint64_t>& parts) {
    if (bytes != 0 && bytes + text.size() > bytes_max) return;
    bytes += text.size();
    add_row(run, text, out);
    parts.push_back(text.part());
  });
}

}  // namespace pawl
