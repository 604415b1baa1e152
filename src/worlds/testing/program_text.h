// Bodies of requests that bring a manifest and its nodes, for tests: an order workflow that has one
// of everything, and what read_program() says about a body.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/program.h"
#include "worlds/testing/judging_host.h"

namespace pawl::worlds {

// A world's store of nodes and code, filled by keep().
struct ProgramStore {
  std::map<std::string, std::string, std::less<>> nodes, blobs;

  void keep(const ProgramText& text);
  std::optional<std::string> node(std::string_view hash) const { return get(nodes, hash); }
  std::optional<std::string> blob(std::string_view hash) const { return get(blobs, hash); }

 private:
  static std::optional<std::string> get(
      const std::map<std::string, std::string, std::less<>>& items, std::string_view hash);
};

// The parts of the order workflow's body, as JSON texts.
struct OrderBody {
  std::string manifest;
  std::vector<std::string> nodes;

  OrderBody();
  // Replaces the one place where `part` stands, in the manifest or in a node.
  OrderBody& with(std::string_view part, std::string_view other);
  std::string text() const;  // {"manifest":…,"nodes":[…]}
};

// `body`: {"manifest"?, "nodes"?}.
Result<ProgramText> read_body(const std::string& body, JudgingHost& host,
                              const ProgramStore& store = {});
ProgramText read_body(const std::string& body, const ProgramStore& store = {});

// Each as "code path", in the order of the paths.
std::vector<std::string> fault_lines(const std::vector<Complaint>& complaints);

}  // namespace pawl::worlds
