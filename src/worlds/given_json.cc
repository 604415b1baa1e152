#include "worlds/given_json.h"

#include <set>

#include "base/json_writer.h"
#include "worlds/cbor.h"
#include "worlds/json_pointer.h"
#include "worlds/members.h"
#include "worlds/type.h"

namespace pawl::worlds {

// Writes the value again without what from_plain_json() refuses.
class GivenJson::Mender {
 public:
  Mender(std::string& out, std::vector<Complaint>& refused) : writer_(out), refused_(refused) {}

  void value(json::View v, const std::string& path, size_t depth) {
    switch (v.kind()) {
      case json::Kind::Null:
      case json::Kind::False:
      case json::Kind::True:
      case json::Kind::String:
        writer_.raw(v.raw());
        return;
      case json::Kind::Number:
        if (from_plain_json(v).ok())
          writer_.raw(v.raw());
        else
          refuse(path, "must be a whole number from -2^64 to 2^64-1");
        return;
      case json::Kind::Array:
      case json::Kind::Object:
        if (depth < cbor::kDepthMax)
          structure(v, path, depth + 1);
        else
          refuse(path, "stands deeper than 64 levels");
        return;
    }
  }

 private:
  void refuse(const std::string& path, std::string message) {
    complain(refused_, path, "type.invalid", std::move(message));
    writer_.raw("[]");
  }

  void structure(json::View v, const std::string& path, size_t depth) {
    if (v.is_array()) {
      writer_.begin_array();
      size_t index = 0;
      v.each_element([&](json::View element) { value(element, below(path, index++), depth); });
      writer_.end_array();
      return;
    }
    writer_.begin_object();
    std::set<std::string> names;
    v.each_member([&](json::View key, json::View member) {
      std::string name = key.string();
      const std::string at = below(path, name);
      const auto [known, is_new] = names.insert(std::move(name));
      if (!is_new) return complain(refused_, at, "type.invalid", "stands here twice");
      writer_.key(*known);
      value(member, at, depth);
    });
    writer_.end_object();
  }

  json::Writer writer_;
  std::vector<Complaint>& refused_;
};

std::optional<std::string> GivenJson::read(json::View value, const std::string& path) {
  Result<std::string> bytes = from_plain_json(value);
  if (bytes.ok()) return *std::move(bytes);
  std::string mended;
  Mender(mended, refused_).value(value, path, 0);
  const Result<json::Doc> doc = json::parse(mended);
  if (doc.ok()) {
    Result<std::string> again = from_plain_json(doc->root());
    if (again.ok()) return *std::move(again);
  }
  complain(faults_, path, "type.invalid", bytes.error().message);
  return std::nullopt;
}

void GivenJson::finish() {
  if (refused_.empty()) return;
  std::set<std::string, std::less<>> told;
  for (const Complaint& fault : faults_) told.insert(fault.path);
  for (Complaint& refused : refused_) {
    // At its place, or at one that holds it.
    std::string_view place = refused.path;
    while (!place.empty() && !told.contains(place)) place = place.substr(0, place.rfind('/'));
    if (place.empty()) faults_.push_back(std::move(refused));
  }
  refused_.clear();
}

}  // namespace pawl::worlds
