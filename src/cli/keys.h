// The API keys of a running server. main/ adds the same for a data directory that no server holds.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace pawl::cli {

int create_key(const Invocation& given);
int list_keys(const Invocation& given);
int revoke_key(const Invocation& given);

// Of --scope read,write or --scope read --scope write.
std::vector<std::string> wanted_scopes(const Invocation& given);

struct KeyRow {
  std::string id, name, scopes, created;
};
void print_keys(const std::vector<KeyRow>& rows);
void print_new_key(const KeyRow& row, const std::string& secret);

}  // namespace pawl::cli
