// pawl worlds init and types: a project for a module, and declarations of a world's schemas.
#include <filesystem>
#include <fstream>

#include "base/quote.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/world_directory.h"
#include "main/local.h"
#include "plan/source.h"
#include "world_templates.h"
#include "worlds/types_for.h"

namespace pawl {
namespace {

using cli::Invocation;
namespace fs = std::filesystem;
using worlds::ModuleLanguage;

constexpr std::string_view kEveryProject = "every/";
constexpr std::string_view kTemplateNodes = "every/nodes/visits.yaml";
// A copy of the SDK has no examples.
constexpr std::string_view kExampleSection = "\n[[example]]";

int project_usage(const std::string& message) {
  cli::complain(message);
  return cli::kUsage;
}

Result<ModuleLanguage> language_of(const Invocation& given) {
  const std::string name = given.text("--lang");
  if (const auto language = worlds::parse_module_language(name)) return *language;
  return Error{ErrorCode::InvalidRequest,
               name.empty() ? "--lang is needed: cpp, rust or ts"
                            : "--lang is cpp, rust or ts, not " + in_quotes(name)};
}

std::string types_file_of(ModuleLanguage language) {
  switch (language) {
    case ModuleLanguage::Cpp:
      return "types.h";
    case ModuleLanguage::Rust:
      return "src/types.rs";
    case ModuleLanguage::Ts:
      return "types.ts";
  }
  return "";
}

Status write_project_file(const fs::path& path, std::string_view text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (!out.good())
    return Error{ErrorCode::InvalidRequest,
                 "cannot write " + path.string() + (failed ? ": " + failed.message() : "")};
  if (path.extension() == ".sh")
    fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, failed);
  return ok_status();
}

// What is built of a copy of the crate: the library alone.
std::string without_examples(std::string_view cargo) {
  std::string out;
  while (!cargo.empty()) {
    const size_t end = std::min(cargo.find("\n[", 1), cargo.size());
    const std::string_view section = cargo.substr(0, end);
    if (!section.starts_with(kExampleSection) && !section.starts_with("\n[profile")) out += section;
    cargo.remove_prefix(end);
  }
  return out;
}

Result<std::string> template_types(ModuleLanguage language) {
  for (const EmbeddedFile& file : kWorldTemplates) {
    if (file.path != kTemplateNodes) continue;
    const plan::Source source = plan::read_yaml(file.text);
    const ValueDoc doc(source.value);
    PAWL_TRY_DO(doc.status());
    return worlds::types_for(doc.root(), language);
  }
  return Error{ErrorCode::NotFound, "the template has no nodes"};
}

Status write_project(const fs::path& folder, const std::string& name, ModuleLanguage language) {
  const std::string own = name + "/";
  for (const EmbeddedFile& file : kWorldTemplates) {
    const bool mine = file.path.starts_with(own);
    if (!mine && !file.path.starts_with(kEveryProject)) continue;
    const fs::path path = folder / file.path.substr(mine ? own.size() : kEveryProject.size());
    const bool crate = file.path == "rust/pawl-module/Cargo.toml";
    PAWL_TRY_DO(
        write_project_file(path, crate ? without_examples(file.text) : std::string(file.text)));
  }
  PAWL_TRY(const std::string types, template_types(language));
  return write_project_file(folder / types_file_of(language), types);
}

int run_world_init(const Invocation& given) {
  const auto language = language_of(given);
  if (!language.ok()) return project_usage(language.error().message);
  const fs::path folder = given.argument(0);
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed))
    return project_usage(folder.string() + " is a file; a project is a folder");
  if (fs::exists(folder, failed) && !fs::is_empty(folder, failed))
    return project_usage(folder.string() + " is there already, and not empty");
  const Status written = write_project(folder, given.text("--lang"), *language);
  if (!written.ok()) {
    cli::complain(written.error().message);
    return cli::kRefused;
  }
  const std::string shown = cli::printable(folder.string());
  cli::print_text("wrote " + shown + "\n  " + shown + "/build.sh            # builds the module\n" +
                  "  pawl worlds test " + shown + "    # runs its tests\n");
  return cli::kDone;
}

int print_types(json::View nodes, ModuleLanguage language) {
  const auto text = worlds::types_for(nodes, language);
  if (!text.ok()) {
    cli::complain(text.error().message);
    return cli::kRefused;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  return cli::kDone;
}

int print_folder_types(const std::string& folder, ModuleLanguage language) {
  // The code need not be built yet: it is built with these types.
  const auto directory = cli::WorldDirectory::read(folder, cli::WorldDirectory::Code::Leave);
  if (!directory.ok()) return project_usage(directory.error().message);
  for (const std::string& fault : directory->faults()) cli::complain(fault);
  if (!directory->faults().empty()) return cli::kRefused;
  const std::string members = "{" + directory->members() + "}";
  const auto doc = json::parse(members);
  const auto nodes = doc.ok() ? doc->root().find("nodes") : std::nullopt;
  return nodes ? print_types(*nodes, language) : project_usage("there are no nodes in " + folder);
}

// GET B/defs has the nodes as members of its entries.
int print_world_types(const Invocation& given, ModuleLanguage language) {
  cli::Session session(given);
  auto answer = session.ask("GET", cli::path_of("/v1/worlds/", given.argument(0), "/defs"));
  if (!answer) return session.exit_code();
  std::string nodes = "[";
  if (auto defs = answer->root().find("defs"))
    defs->each_element([&](json::View def) {
      if (auto node = def.find("node"))
        nodes += (nodes.size() > 1 ? "," : "") + std::string(node->raw());
    });
  nodes += "]";
  const auto doc = json::parse(nodes);
  return doc.ok() ? print_types(doc->root(), language) : project_usage(doc.error().message);
}

int run_world_types(const Invocation& given) {
  const auto language = language_of(given);
  if (!language.ok()) return project_usage(language.error().message);
  const std::string name = given.argument(0);
  std::error_code failed;
  if (fs::is_directory(name, failed)) return print_folder_types(name, *language);
  if (name.find_first_of("./") != std::string::npos)  // no name of a world has one
    return project_usage("there is no folder " + in_quotes(name));
  const int code = print_world_types(given, *language);
  if (code != cli::kDone)
    std::fputs("      There is no folder of this name here either.\n", stderr);
  return code;
}

}  // namespace

std::vector<cli::Command> world_project_commands() {
  const cli::Option lang{"--lang", "LANG", "cpp, rust or ts", "cpp rust ts"};
  return {
      {"worlds init",
       "begin a module: a project that builds, with a test",
       {{"DIR", "a folder that is not there, or empty"}},
       {lang},
       "The project stands on its own: the SDK's source is in it.\n"
       "\nExample:\n  pawl worlds init visits --lang cpp && visits/build.sh && pawl worlds test "
       "visits",
       run_world_init},
      cli::remote(
          "worlds types", "print the types of a world's schemas as declarations for modules",
          run_world_types, {{"DIR|NAME", "a world's folder, or the name of one on the server"}},
          {lang}, "Example:\n  pawl worlds types --lang rust . > src/types.rs")};
}

}  // namespace pawl
