// WorldDirectory: the program of a world as people keep it, a folder of files.
//
//   manifest.json or manifest.yaml     the manifest
//   nodes/**/*.json, nodes/**/*.yaml   a node each, or an array of nodes
//   anything.wasm                      named by a defmodule's `wasm_file`, relative to the folder
//
// Files are read in the order of their paths, so the same folder always gives the same request.
// Links are followed only within the folder: what lies outside is never sent. Numbers in JSON files
// reach the server as they are written; in YAML files they are whole numbers of 64 bits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/value.h"
#include "plan/source.h"

namespace pawl::cli {

class WorldDirectory {
 public:
  // Whether the files that `wasm_file` names are read; without them the nodes have no code, and the
  // files need not be there.
  enum class Code : uint8_t { Read, Leave };

  // InvalidRequest: there is no such folder. What is wrong inside of it is in faults().
  static Result<WorldDirectory> read(const std::string& path, Code code = Code::Read);

  // "orders/nodes/payment.yaml:3: there is no such file: build/payment.wasm", all that was found.
  const std::vector<std::string>& faults() const { return faults_; }

  // "manifest":{…},"nodes":[…]: members of a request. Only without faults.
  std::string members() const;

  // Where a JSON pointer into these members leads.
  struct Place {
    std::string file;     // "orders/nodes/payment.yaml:12"; empty: nowhere
    std::string pointer;  // in the file: "/1/abi/workflow/state"
  };
  Place place_of(std::string_view pointer) const;

 private:
  class Reader;

  struct File {
    std::string name;     // as shown: "orders/nodes/payment.yaml"
    std::string text;     // of a JSON file
    json::Doc doc;        // of a JSON file; points into `text`
    bool is_json = true;  // otherwise YAML:
    plan::Source source = {};
  };
  struct Entry {
    std::shared_ptr<const File> file;
    std::optional<size_t> index;  // in the array that the file is
    std::string json;
    bool has_wasm_file = false;
  };

  static uint32_t line_of(const File& file, const std::vector<std::string>& tokens);

  std::optional<Entry> manifest_;
  std::vector<Entry> nodes_;
  std::vector<std::string> faults_;
};

}  // namespace pawl::cli
