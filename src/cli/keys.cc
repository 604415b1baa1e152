#include "cli/keys.h"

#include "base/json_writer.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kKeys = "/v1/keys";

KeyRow row_of(json::View key) {
  std::string scopes;
  if (auto list_keys = key.find("scopes"))
    list_keys->each_element(
        [&](json::View scope) { scopes += (scopes.empty() ? "" : ",") + scope.string(); });
  return {member(key, "id"), member(key, "name"), scopes, member(key, "created_at")};
}

}  // namespace

std::vector<std::string> wanted_scopes(const Invocation& given) {
  std::vector<std::string> scopes;
  for (const std::string& text : given.texts("--scope")) {
    std::string list_keys = text + ",";
    for (size_t at = 0, end; (end = list_keys.find(',', at)) != std::string::npos; at = end + 1)
      if (end > at) scopes.push_back(list_keys.substr(at, end - at));
  }
  if (scopes.empty()) scopes = {"admin"};
  return scopes;
}

void print_keys(const std::vector<KeyRow>& rows) {
  Table table({"ID", "NAME", "SCOPES", "CREATED"});
  for (const KeyRow& row : rows) table.add({row.id, row.name, row.scopes, row.created});
  if (table.empty()) return print_text("no keys: anyone who reaches the server may do anything\n");
  print_text(table.text(colours_on(stdout)));
}

void print_new_key(const KeyRow& row, const std::string& secret) {
  print_text(printable(secret) + "\n");
  std::string note = "Key " + printable(row.id) + " (" + printable(row.scopes) +
                     "). It is shown this once: keep it now.\n";
  std::fputs(note.c_str(), stderr);
}

int create_key(const Invocation& given) {
  json::ObjectWriter w;
  w.field("name", given.argument(0)).key("scopes").begin_array();
  for (const std::string& scope : wanted_scopes(given)) w.string(scope);
  w.end_array();
  return Session(given).show("POST", kKeys, w.close(), [](json::View root) {
    print_new_key(row_of(root), member(root, "key"));
  });
}

int list_keys(const Invocation& given) {
  return Session(given).show("GET", std::string(kKeys) + "?limit=1000", "", [](json::View root) {
    std::vector<KeyRow> rows;
    if (auto keys = root.find("keys"))
      keys->each_element([&](json::View key) { rows.push_back(row_of(key)); });
    print_keys(rows);
  });
}

int revoke_key(const Invocation& given) {
  return Session(given).show(
      "DELETE", path_of("/v1/keys/", given.argument(0)), "",
      [&](json::View) { print_text(printable(given.argument(0)) + " revoked\n"); });
}

}  // namespace pawl::cli
