// pawl definitions …: workflows that a server can run by name.
#include <fstream>

#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/given_inputs.h"
#include "cli/json_layout.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kDefinitions = "/v1/definitions";
constexpr size_t kDefinitionFileBytesMax = 16u << 20;
const Parameter kDefinitionName{"NAME", "the definition's name"};
const Option kVersion{"--version", "VERSION", "by default the newest"};

std::string definition_path(const Invocation& given, std::string_view after = "") {
  return path_of("/v1/definitions/", given.argument(0), after);
}

void print_put(json::View root) {
  print_text(printable(member(root, "name")) + " " + printable(member(root, "version")) + "\n");
  if (auto warnings = root.find("warnings"); warnings && warnings->is_array())
    warnings->each_element([](json::View warning) {
      std::string path = member(warning, "path");
      print_text(painted("warning:", Colour::Yellow, colours_on(stdout)) + " " +
                 (path.empty() ? "" : printable(path) + ": ") +
                 printable(member(warning, "message")) + "\n");
    });
}

// Every fault with its line and hint, as in `pawl validate`.
void print_faults(const std::string& file, json::View faults) {
  faults.each_element([&](json::View fault) {
    std::string line = member(fault, "line");
    std::string path = member(fault, "path");
    std::string hint = member(fault, "hint");
    std::string text = printable(file) + ":" + (line.empty() ? "" : line + ":") + " " +
                       painted("error:", Colour::Red, colours_on(stderr)) + " " +
                       (path.empty() ? "" : printable(path) + ": ") +
                       printable(member(fault, "message")) + "\n";
    if (!hint.empty()) text += "    " + printable(hint) + "\n";
    std::fputs(text.c_str(), stderr);
  });
}

int put_definition(const Invocation& given) {
  Session session(given);
  auto text = read_whole_file(given.argument(0), kDefinitionFileBytesMax);
  if (!text.ok()) return session.fail(text.error());
  std::string lenient = query_of({{"lenient", given.text("--lenient")}});
  std::string question;
  json::Writer(question).begin_object().field("definition", *text).end_object();
  auto checked = session.ask("POST", std::string(kDefinitions) + "/validate" + lenient, question);
  if (!checked) return session.exit_code();
  if (auto errors = checked->root().find("errors"); errors && errors->size() > 0) {
    print_faults(given.argument(0), *errors);
    complain("the definition is not valid; nothing was changed");
    return kRefused;
  }
  json::ObjectWriter w;
  for (const auto& [option, name] :
       {std::pair{"--name", "name"}, {"--version", "version"}, {"--description", "description"}})
    if (given.has(option)) w.field(name, given.text(option));
  w.field("definition", *text);
  return session.show("POST", kDefinitions + lenient, w.close(), print_put);
}

int list_definitions(const Invocation& given) {
  std::string query = query_of(given, {"limit", "cursor"}, "100");
  return Session(given).show("GET", kDefinitions + query, "", [](json::View root) {
    Table table({"NAME", "VERSION", "CREATED", "DESCRIPTION"});
    if (auto all = root.find("definitions"))
      all->each_element([&](json::View one) {
        table.add({member(one, "name"), member(one, "version"), member(one, "created_at"),
                   member(one, "description")});
      });
    print_text(table.empty() ? "no definitions; 'pawl definitions put FILE' adds one\n"
                             : table.text(colours_on(stdout)));
    print_more(root);
  });
}

int get_definition(const Invocation& given) {
  std::string path = definition_path(given) + query_of({{"version", given.text("--version")}});
  return Session(given).show("GET", path, "", [](json::View root) {
    for (const char* name : {"name", "version", "description", "created_at"})
      print_pair(name, member(root, name));
    std::string versions;
    if (auto all = root.find("versions"); all && all->is_array())
      all->each_element(
          [&](json::View one) { versions += (versions.empty() ? "" : " ") + one.string(); });
    print_pair("versions", versions);
    for (const char* name : {"input_schema", "output_schema", "triggers", "definition"})
      if (std::string json = member(root, name); !json.empty())
        print_text("\n" + std::string(name) + "\n" + laid_out_json(json) + "\n");
  });
}

int remove_definition(const Invocation& given) {
  std::string path = definition_path(given) + query_of(given, {"version", "force"});
  return Session(given).show("DELETE", path, "", [&](json::View root) {
    std::string versions;
    if (auto all = root.find("removed"); all && all->is_array())
      all->each_element([&](json::View one) { versions += " " + one.string(); });
    print_text("removed " + printable(given.argument(0)) + printable(versions) + "\n");
  });
}

int diagram(const Invocation& given) {
  Session session(given);
  std::string query =
      query_of({{"format", given.text("--format", "ascii")}, {"version", given.text("--version")}});
  auto picture = session.fetch_text(definition_path(given, "/diagram") + query);
  if (!picture) return session.exit_code();
  if (session.json()) *picture = diagram_json(given.text("--format", "ascii"), *picture);
  if (picture->empty() || picture->back() != '\n') *picture += '\n';
  if (!given.has("--output")) {
    print_text(*picture);
    return kDone;
  }
  std::ofstream file(given.text("--output"), std::ios::binary | std::ios::trunc);
  file << *picture;
  file.close();
  if (file) return kDone;
  complain("cannot write " + given.text("--output"));
  return kRefused;
}

}  // namespace

std::vector<Command> server_definition_commands() {
  return {remote("definitions put", "register a definition, or a new version of it", put_definition,
                 {{"FILE", "YAML or JSON; - reads standard input"}},
                 {{"--name", "NAME", "instead of the name in the file"},
                  {"--version", "VERSION", "instead of v1, v2 …"},
                  {"--description", "TEXT", "for people"},
                  {"--lenient", "", "unknown fields are warnings"}},
                 "The same text keeps its version; a changed text is the next "
                 "version.\n\nExample:\n  pawl "
                 "definitions put examples/hello.yaml"),
          remote("definitions list", "list definitions", list_definitions, {},
                 {{"--limit", "N", "at most this many"},
                  {"--cursor", "CURSOR", "continue where the last page ended"}}),
          remote("definitions get", "show a definition and its versions", get_definition,
                 {kDefinitionName}, {kVersion}),
          remote("definitions delete", "remove a definition", remove_definition, {kDefinitionName},
                 {{"--version", "VERSION", "only this version"},
                  {"--force", "", "even if it has live runs; they continue"}}),
          remote("definitions diagram", "draw a definition", diagram, {kDefinitionName},
                 {{"--format", "FORMAT", "ascii, mermaid or svg (ascii)", "ascii mermaid svg"},
                  kVersion,
                  {"--output", "FILE", "write it there"}})};
}

}  // namespace pawl::cli
