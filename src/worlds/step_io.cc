#include "worlds/step_io.h"

#include <array>
#include <span>
#include <utility>

#include "base/plant.h"
#include "worlds/cbor_head.h"

namespace pawl::worlds {
namespace {

std::string step_context(const StepCall& call) {
  std::string out;
  out.reserve(448 + call.module.name.size());
  MapWriter(out, 9)
      .maybe_bytes("key", call.key)
      .integer("now_ns", call.now_ns)
      .bytes("entropy", call.entropy)
      .text("workflow", call.module.name)
      .boolean("cell_mode", call.module.keyed())
      .text("event_hash", call.event_hash)
      .text("manifest_hash", call.manifest_hash)
      .nat("journal_height", call.seq)
      .integer("logical_now_ns", call.logical_now_ns);
  return out;
}

std::string pure_context(const PureCall& call) {
  std::string out;
  MapWriter(out, 4)
      .text("module", call.module.name)
      .text("manifest_hash", call.manifest_hash)
      .nat("journal_height", call.seq)
      .integer("logical_now_ns", call.logical_now_ns);
  return out;
}

Fault invalid_output(std::string detail) { return {"step.output_invalid", std::move(detail)}; }

using Names = std::span<const std::string_view>;

// Reads an output in one pass, without items: a hostile one may have millions. Every read returns
// false after the first fault.
class OutputReader {
 public:
  explicit OutputReader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<Fault> fault() && { return std::move(fault_); }
  bool fail(std::string_view what, std::string_view why) {
    return fail(invalid_output(std::string(what).append(" ").append(why)));
  }
  bool fail(Fault fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool at_end() { return at_ == bytes_.size() || fail("output", "has bytes behind its end"); }

  // A map whose members all have one of these names, each at most once; `seen` has a bit for each
  // that is there.
  template <class Visit>  // bool visit(size_t index): reads the member's value
  bool map(std::string_view what, Names names, uint32_t& seen, Visit&& visit) {
    uint64_t count = 0;
    if (!list_head(what, cbor::kMajorMap, "is no map", count)) return false;
    for (; count > 0; --count) {
      std::string_view name;
      if (!string(what, cbor::kMajorText, "has a member whose name is no text", name)) return false;
      size_t index = 0;
      while (index < names.size() && names[index] != name) ++index;
      if (index == names.size()) return fail(what, "has a member that is not of the contract");
      if ((seen >> index & 1) != 0) return fail(what, "has a member twice");
      seen |= 1u << index;
      if (!visit(index)) return false;
    }
    return true;
  }
  // A list; null counts as an empty one.
  template <class Visit>  // bool visit(): reads an element
  bool list(std::string_view what, size_t max, Visit&& visit) {
    if (null()) return true;
    uint64_t count = 0;
    if (!list_head(what, cbor::kMajorArray, "is no array", count)) return false;
    if (count > max) {
      return fail(Fault{"step.output_limit", std::string(what) + " has " + std::to_string(count) +
                                                 " elements, at most " + std::to_string(max)});
    }
    for (; count > 0; --count)
      if (!visit()) return false;
    return true;
  }
  bool text(std::string_view what, std::string_view& out) {
    return string(what, cbor::kMajorText, "is no text", out);
  }
  bool bytes(std::string_view what, std::string_view& out) {
    return string(what, cbor::kMajorBytes, "is no byte string", out);
  }
  bool maybe_text(std::string_view what, MaybeBytes& out) {
    return null() || text(what, out.emplace());
  }
  bool maybe_bytes(std::string_view what, MaybeBytes& out) {
    return null() || bytes(what, out.emplace());
  }

 private:
  bool null() {
    if (at_ >= bytes_.size() || bytes_[at_] != '\xf6') return false;
    ++at_;
    return true;
  }
  bool list_head(std::string_view what, uint8_t major, std::string_view why, uint64_t& count) {
    cbor::Head head;
    if (!cbor::take_head(bytes_, at_, head)) return fail(what, "ends too early");
    if (head.major != major) return fail(what, why);
    if (head.info > 27) return fail(what, "has no definite length");
    count = head.argument;
    return true;
  }
  bool string(std::string_view what, uint8_t major, std::string_view why, std::string_view& out) {
    uint64_t size = 0;
    if (!list_head(what, major, why, size)) return false;
    if (size > bytes_.size() - at_) return fail(what, "ends too early");
    out = bytes_.substr(at_, static_cast<size_t>(size));
    at_ += out.size();
    return major != cbor::kMajorText || cbor::is_utf8(out) || fail(what, "is not UTF-8");
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  std::optional<Fault> fault_;
};

constexpr std::array<std::string_view, 6> kOutputMembers = {"state", "domain_events", "effects",
                                                            "ann",   "status",        "error"};
constexpr std::array<std::string_view, 3> kEventMembers = {"schema", "value", "key"};
constexpr std::array<std::string_view, 4> kEffectMembers = {"kind", "params_cbor", "cap_slot",
                                                            "idempotency_key"};
constexpr std::array<std::string_view, 1> kPureMembers = {"output"};

bool read_event(OutputReader& reader, OutEvent& event) {
  constexpr std::string_view kWhat = "output.domain_events[]";
  uint32_t seen = 0;
  const bool read = reader.map(kWhat, kEventMembers, seen, [&](size_t index) {
    if (index == 0) return reader.text("output.domain_events[].schema", event.schema);
    if (index == 1) return reader.bytes("output.domain_events[].value", event.value);
    return reader.maybe_bytes("output.domain_events[].key", event.key);
  });
  return read && ((seen & 3) == 3 || reader.fail(kWhat, "lacks a schema or a value"));
}

bool read_effect(OutputReader& reader, OutEffect& effect) {
  constexpr std::string_view kWhat = "output.effects[]";
  uint32_t seen = 0;
  const bool read = reader.map(kWhat, kEffectMembers, seen, [&](size_t index) {
    if (index == 0) return reader.text("output.effects[].kind", effect.kind);
    if (index == 1) return reader.bytes("output.effects[].params_cbor", effect.params);
    if (index == 2) return reader.maybe_text("output.effects[].cap_slot", effect.cap_slot);
    return reader.maybe_bytes("output.effects[].idempotency_key", effect.requested_key);
  });
  return read && ((seen & 3) == 3 || reader.fail(kWhat, "lacks a kind or params_cbor"));
}

bool read_status(OutputReader& reader, Said& said) {
  MaybeBytes status;
  if (!reader.maybe_text("output.status", status)) return false;
  if (!status) return true;
  if (*status != "completed" && *status != "failed")
    return reader.fail("output.status", "is neither completed nor failed");
  said = *status == "failed" ? Said::Failed : Said::Completed;
  return true;
}

bool read_output(OutputReader& reader, StepOutput& output) {
  uint32_t seen = 0;
  const bool read = reader.map("output", kOutputMembers, seen, [&](size_t index) {
    switch (index) {
      case 0:
        return reader.maybe_bytes("output.state", output.state);
      case 1:
        return reader.list("output.domain_events", kStepEventsMax,
                           [&] { return read_event(reader, output.events.emplace_back()); });
      case 2:
        return reader.list("output.effects",
                           has_bug(Bug::EffectsPastTheLimit) ? SIZE_MAX : kStepEffectsMax,
                           [&] { return read_effect(reader, output.effects.emplace_back()); });
      case 3:
        return reader.maybe_bytes("output.ann", output.ann);
      case 4:
        return read_status(reader, output.said);
      default:
        return reader.maybe_text("output.error", output.error);
    }
  });
  return read && reader.at_end() && ((seen & 1) != 0 || reader.fail("output.state", "is missing"));
}

std::optional<Fault> check_limits(const StepOutput& output) {
  size_t bytes = (output.state ? output.state->size() : 0) + (output.ann ? output.ann->size() : 0);
  for (const OutEvent& event : output.events) bytes += event.value.size();
  for (const OutEffect& effect : output.effects) bytes += effect.params.size();
  if (bytes <= kStepBytesMax) return std::nullopt;
  return Fault{"step.output_limit", "state, ann, values and params have " + std::to_string(bytes) +
                                        " bytes, at most " + std::to_string(kStepBytesMax)};
}

}  // namespace

std::string step_input(const StepCall& call) {
  const std::string context = call.module.has_context ? step_context(call) : std::string();
  std::string out;
  out.reserve(128 + context.size() + call.value.size() + (call.state ? call.state->size() : 0) +
              call.module.event_schema.size() + (call.key ? call.key->size() : 0));
  MapWriter map(out, call.module.has_context ? 4 : 3);
  if (call.module.has_context) map.bytes("ctx", context);
  MapWriter event(map.key("event"), call.key ? 3 : 2);
  if (call.key) event.bytes("key", *call.key);
  event.bytes("value", call.value).text("schema", call.module.event_schema);
  map.maybe_bytes("state", call.state).nat("version", 1);
  return out;
}

std::optional<Fault> read_step_output(std::string_view bytes, StepOutput& output) {
  OutputReader reader(bytes);
  if (!read_output(reader, output)) return std::move(reader).fault();
  return check_limits(output);
}

std::string pure_input(const PureCall& call) {
  std::string out;
  out.reserve(64 + call.input.size());
  MapWriter map(out, call.module.has_context ? 3 : 2);
  if (call.module.has_context) map.bytes("ctx", pure_context(call));
  map.bytes("input", call.input).nat("version", 1);
  return out;
}

std::optional<Fault> read_pure_output(std::string_view bytes, std::string_view& output) {
  OutputReader reader(bytes);
  uint32_t seen = 0;
  const bool read = reader.map("output", kPureMembers, seen,
                               [&](size_t) { return reader.bytes("output.output", output); });
  if (read && reader.at_end() && seen == 1) return std::nullopt;
  std::optional<Fault> fault = std::move(reader).fault();
  return Fault{"pure.output_invalid",
               fault ? std::move(fault->detail) : "output.output is missing"};
}

Error no_runtime(const std::string& why) {
  return refusal(ErrorCode::Unavailable, "worlds.no_runtime",
                 why.empty() ? "the module cannot be run now" : why);
}

std::optional<Fault> fault_of_call(CallEnd end) {
  switch (end) {
    case CallEnd::Returned:
    case CallEnd::Unavailable:
      return std::nullopt;
    case CallEnd::Trap:
      return Fault{"step.trap", "the module trapped"};
    case CallEnd::FuelExceeded:
      return Fault{"step.fuel_exceeded", "the module used up its fuel"};
    case CallEnd::Timeout:
      return Fault{std::string(kTimeout), "the module ran out of time"};
    case CallEnd::BadOutput:
      return invalid_output("the output does not lie in the module's memory");
    case CallEnd::OutputLimit:
      return Fault{"step.output_limit",
                   "the output has more than " + std::to_string(kRawOutputMax) + " bytes"};
  }
  return std::nullopt;
}

std::string_view cut_text(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace pawl::worlds
