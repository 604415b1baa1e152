#include <CLI/CLI.hpp>

#include "main/serve.h"

int main(int argc, char** argv) {
  CLI::App app{"Pawl: a durable workflow engine"};
  pawl::ServeOptions serve;
  CLI::App* command = app.add_subcommand("serve", "run the server");
  command->add_option("--listen", serve.listen);
  command->add_option("--data", serve.data_dir);
  command->add_option("--store", serve.store);
  command->add_option("--api-key", serve.api_keys);
  command->add_flag("--no-auth", serve.no_auth);
  command->add_flag("--access-log", serve.access_log);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  return pawl::serve(serve);
}
