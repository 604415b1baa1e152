// Members: reads one object of a node or manifest by the names of its members, and complains with a
// JSON pointer of each member that is unknown, missing or of another shape. null counts as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "worlds/cbor.h"

namespace pawl::worlds {

constexpr size_t kFaultsMax = 1000;  // after so many nothing more is said

void complain(std::vector<Complaint>& faults, std::string path, std::string_view code,
              std::string message);

class Members {
 public:
  // Complains of members that are not `known`, and of an item that is no object: then all of them
  // are absent, and none is missing.
  Members(const cbor::Item& item, std::string path, std::initializer_list<std::string_view> known,
          std::vector<Complaint>& faults);

  bool is_object() const { return item_ != nullptr; }
  const cbor::Item* find(std::string_view name) const;
  const cbor::Item* need(std::string_view name) const;  // field.missing
  std::string path(std::string_view name) const;

  // `code`: what another shape is called.
  std::string text(std::string_view name, std::string_view code = "type.invalid") const;
  std::optional<std::string> optional_text(std::string_view name,
                                           std::string_view code = "type.invalid") const;
  // An array's elements; an absent one has none.
  const std::vector<cbor::Item>& array(std::string_view name) const;
  const std::vector<cbor::Item>& needed_array(std::string_view name) const;

 private:
  const cbor::Item* item_;  // null: no object
  const std::string path_;
  std::vector<Complaint>& faults_;
};

// The text of an item, or "" and a complaint.
std::string text_of(const cbor::Item& item, std::string path, std::string_view code,
                    std::vector<Complaint>& faults);

bool is_def_name(std::string_view name);     // ns/name@N
bool is_secret_name(std::string_view name);  // that, or alias@N without a namespace
bool is_slot_name(std::string_view name);    // of slots and grants
bool is_dotted_name(std::string_view name);  // of effect kinds and cap types
bool is_reserved_name(std::string_view name);

}  // namespace pawl::worlds
