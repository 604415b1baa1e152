// The simulator without the rest of Pawl: builds in a fraction of the time.
#include <cstdio>

#include "sim/sim_main.h"

int main(int argc, char** argv) {
  using namespace pawl::sim;
  SimCommand command;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::string value;
    for (const SimFlag& flag : sim_flags())
      if (flag.name == name && !flag.value.empty() && i + 1 < argc) value = argv[++i];
    if (pawl::Status set = set_flag(command, name, value); !set.ok()) {
      std::fprintf(stderr, "%s\nflags:\n", set.error().message.c_str());
      for (const SimFlag& flag : sim_flags())
        std::fprintf(stderr, "  %-11s %-5s %s\n", std::string(flag.name).c_str(),
                     std::string(flag.value).c_str(), std::string(flag.help).c_str());
      return 2;
    }
  }
  return sim_command(command);
}
