// pawl_bench: load for a Pawl server of its own, judged against what the machine can do.
#include <algorithm>
#include <cstdio>

#include "options.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

bool wanted(const Options& options, std::string_view name) {
  return std::any_of(options.workloads.begin(), options.workloads.end(),
                     [&](const std::string& given) { return given == name || given == "all"; });
}

// Whatever was measured before a failure is still printed: it tells where things stood.
bool run_all(Bench& bench) {
  fprintf(stderr, "measuring the yardsticks\n");
  if (const Status status = measure_yardsticks(bench); !status.ok()) {
    fprintf(stderr, "pawl_bench: yardsticks: %s\n", status.error().message.c_str());
    return false;
  }
  bool good = true;
  for (const Workload& workload : all_workloads()) {
    if (!wanted(bench.options, workload.name)) continue;
    fprintf(stderr, "running %s\n", workload.name.data());
    if (const Status status = workload.run(bench); !status.ok()) {
      fprintf(stderr, "pawl_bench: %s: %s\n", workload.name.data(), status.error().message.c_str());
      good = false;
    }
  }
  return good;
}

int run(int argc, const char* const* argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    fputs(usage_text().c_str(), stdout);
    return 0;
  }
  Result<Options> options = parse_options(argc, argv);
  if (!options.ok()) {
    fprintf(stderr, "pawl_bench: %s\n%s", options.error().message.c_str(), usage_text().c_str());
    return 2;
  }
  Bench bench{std::move(options).value(), {}, 0};
  const bool good = run_all(bench);
  const std::string text = bench.options.json ? bench.report.json() : bench.report.text();
  fputs(text.c_str(), stdout);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace pawl::bench

int main(int argc, char** argv) { return pawl::bench::run(argc, argv); }
