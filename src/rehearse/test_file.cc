#include "rehearse/test_file.h"

#include <algorithm>

#include "actions/params_judge.h"
#include "base/quote.h"
#include "plan/source.h"
#include "rehearse/case_reader.h"

namespace pawl::rehearse {
namespace {

using plan::Cursor;

constexpr std::string_view kTop[] = {"definition", "workflow", "definitions", "defaults", "cases"};

// Reads one definition, and reports its faults at the place that refers to it.
std::shared_ptr<const plan::Script> take(plan::Findings& findings, const Cursor& at,
                                         plan::ReadResult read) {
  for (const plan::Fault& fault : read.errors)
    findings.error(at, fault.code,
                   (fault.line == 0 ? "" : "line " + std::to_string(fault.line) + ": ") +
                       (fault.path.empty() ? "" : fault.path + ": ") + fault.message,
                   fault.hint);
  return read.script;
}

std::shared_ptr<const plan::Script> load_one(plan::Findings& findings, const Cursor& at,
                                             const Loader& load) {
  plan::ReadOptions options;
  options.params = actions::judge_params;
  if (at.is_object()) return take(findings, at, plan::read_definition(at.value(), options));
  std::string path = findings.text(at);
  if (path.empty()) return nullptr;
  auto text = load(path);
  if (text.ok()) return take(findings, at, plan::read_definition(*text, options));
  findings.error(at, "not_found", text.error().message);
  return nullptr;
}

void read_definitions(plan::Findings& findings, const Cursor& top, const Loader& load,
                      TestFile& file) {
  auto main = findings.pick(top, {"definition", "workflow"});
  if (!main) {
    if (!top.field("definition") && !top.field("workflow"))
      findings.error(top, "required", "a test file needs 'definition': the file that is tested",
                     "or 'workflow' with the definition itself");
  } else {
    file.script = load_one(findings, *main, load);
  }
  auto others = top.field("definitions");
  if (!others) return;
  for (const Cursor& at : others->entries()) {
    auto script = load_one(findings, at, load);
    if (script == nullptr) continue;
    if (script->name.empty())
      findings.error(at, "required", "a definition that others call needs a name");
    file.others.push_back(std::move(script));
  }
}

void read_cases(plan::Findings& findings, const Cursor& top, TestFile& file) {
  auto cases = top.field("cases");
  if (!cases || !cases->is_array() || cases->value().as_array().empty())
    return findings.error(cases ? *cases : top, "required",
                          "'cases' must be a list with one case at least");
  if (cases->value().as_array().size() > kCasesMax)
    return findings.error(*cases, "too_large",
                          "a file has " + std::to_string(kCasesMax) + " cases at most");
  auto defaults = top.field("defaults");
  for (const Cursor& at : cases->entries()) {
    Case one = CaseReader(findings, file).read(at, defaults ? &*defaults : nullptr);
    if (one.name.empty()) one.name = "case " + std::to_string(file.cases.size() + 1);
    for (const Case& other : file.cases)
      if (other.name == one.name)
        findings.error(at, "duplicate", "there is another case " + in_quotes(one.name));
    file.cases.push_back(std::move(one));
  }
}

}  // namespace

TestFileRead read_test_file(std::string_view text, const Loader& load) {
  TestFileRead read;
  plan::Source source = plan::read_source(text, {});
  if (!source.faults.empty()) {
    read.errors = std::move(source.faults);
    return read;
  }
  plan::Findings findings(false);
  Cursor top(source.value, &source.lines);
  if (findings.expect_object(top)) {
    findings.only(top, kTop, "a test file");
    read_definitions(findings, top, load, read.file);
    if (read.file.script != nullptr) read_cases(findings, top, read.file);
  }
  // Defaults are read for every case: a fault in them is reported once.
  for (plan::Fault& fault : findings.take_errors())
    if (std::none_of(read.errors.begin(), read.errors.end(), [&](const plan::Fault& other) {
          return other.path == fault.path && other.message == fault.message;
        }))
      read.errors.push_back(std::move(fault));
  return read;
}

bool names_step(std::string_view key, std::string_view path) {
  if (key.find('.') == key.npos) {
    size_t dot = path.rfind('.');
    return key == (dot == path.npos ? path : path.substr(dot + 1));
  }
  while (true) {
    size_t key_dot = key.find('.');
    size_t path_dot = path.find('.');
    if ((key_dot == key.npos) != (path_dot == path.npos)) return false;
    std::string_view part = key.substr(0, key_dot);
    if (part != "*" && part != path.substr(0, path_dot)) return false;
    if (key_dot == key.npos) return true;
    key.remove_prefix(key_dot + 1);
    path.remove_prefix(path_dot + 1);
  }
}

}  // namespace pawl::rehearse
