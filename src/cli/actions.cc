// pawl actions [NAME]: the actions of steps on this server.
#include "cli/command.h"
#include "cli/json_layout.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

std::string type_of(json::View schema) {
  auto type = schema.find("type");
  if (!type) return "any";
  if (type->is_string()) return type->string();
  std::string all;
  if (type->is_array())
    type->each_element([&](json::View one) { all += (all.empty() ? "" : " or ") + one.string(); });
  return all;
}

bool lists(json::View schema, std::string_view list_actions, const std::string& name) {
  bool found = false;
  if (auto names = schema.find(list_actions); names && names->is_array())
    names->each_element([&](json::View one) { found = found || one.string() == name; });
  return found;
}

void print_fields(std::string_view title, json::View action, std::string_view member_name) {
  auto schema = action.find(member_name);
  auto properties = schema && schema->is_object() ? schema->find("properties") : std::nullopt;
  Table table({std::string(title), "TYPE", "", "WHAT"});
  if (properties && properties->is_object())
    properties->each_member([&](json::View name, json::View property) {
      std::string fallback = member(property, "default");
      std::string key = name.string();
      table.add({key, type_of(property),
                 lists(*schema, "required", key) ? "required"
                 : fallback.empty()              ? ""
                                                 : "default " + fallback,
                 member(property, "description")});
    });
  if (!table.empty()) print_text("\n" + table.text(colours_on(stdout)));
}

int show_one(const Invocation& given) {
  Session session(given);
  auto answer = session.ask("GET", "/v1/actions");
  if (!answer) return session.exit_code();
  bool found = false;
  if (auto all = answer->root().find("actions"))
    all->each_element([&](json::View action) {
      if (found || member(action, "name") != given.argument(0)) return;
      found = true;
      if (session.json()) return print_text(std::string(action.raw()) + "\n");
      print_text(printable(member(action, "name")) + ": " +
                 printable(member(action, "description")) + "\n");
      print_fields("PARAMETER", action, "params_schema");
      print_fields("OUTPUT", action, "output_schema");
    });
  if (found) return kDone;
  complain("there is no action '" + printable(given.argument(0)) + "'; 'pawl actions' lists them");
  return kRefused;
}

int actions(const Invocation& given) {
  if (!given.argument(0).empty()) return show_one(given);
  return Session(given).show("GET", "/v1/actions", "", [](json::View root) {
    Table table({"NAME", "WHAT"});
    if (auto all = root.find("actions"))
      all->each_element([&](json::View action) {
        table.add({member(action, "name"), member(action, "description")});
      });
    print_text(table.text(colours_on(stdout)));
  });
}

}  // namespace

std::vector<Command> action_commands() {
  return {remote("actions", "list the actions that steps can use", actions,
                 {{"NAME", "only this one, with its parameters", false}}, {},
                 "Example:\n  pawl actions http.get")};
}

}  // namespace pawl::cli
