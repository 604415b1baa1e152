#include "sim/case_file.h"

#include <fstream>
#include <sstream>

#include "base/read_number.h"

namespace pawl::sim {
namespace {

bool read_line(const std::string& name, std::istream& words, SimOptions& options) {
  std::string word;
  uint64_t number = 0;
  if (name == "plant") return static_cast<bool>(words >> options.plant);
  if (name == "store") return static_cast<bool>(words >> options.store);
  if (name == "cluster") return options.cluster = true;
  if (name == "modules") return options.modules = true;
  if (name == "seed" || name == "steps") {
    if (!(words >> word) || !read_number(word, number)) return false;
    (name == "seed" ? options.seed : options.steps) = number;
    return true;
  }
  if (name != "only") return false;
  options.only.emplace();
  while (words >> word) {
    if (!read_number(word, number) || number > UINT32_MAX) return false;
    options.only->push_back(static_cast<uint32_t>(number));
  }
  return true;
}

}  // namespace

std::string write_case(const SimOptions& options, const SimReport& report) {
  std::string text = "# " + report.checker + ": " + report.what + "\n";
  text += "seed " + std::to_string(options.seed) + "\n";
  text += "steps " + std::to_string(options.steps) + "\n";
  if (!options.store.empty()) text += "store " + options.store + "\n";
  if (options.cluster) text += "cluster\n";
  if (options.modules) text += "modules\n";
  if (!options.plant.empty()) text += "plant " + options.plant + "\n";
  if (!options.only) return text;
  text += "only";
  for (uint32_t step : *options.only) text += " " + std::to_string(step);
  return text + "\n";
}

Result<SimOptions> read_case(std::string_view text) {
  SimOptions options;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) continue;
    std::string rest;
    if (!read_line(name, words, options) || words >> rest)
      return Error{ErrorCode::InvalidRequest,
                   "line " + std::to_string(number) + " is not of a case file: " + line};
  }
  return options;
}

Result<SimOptions> read_case_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::NotFound, "cannot read " + path};
  std::ostringstream text;
  text << file.rdbuf();
  return read_case(text.str());
}

}  // namespace pawl::sim
