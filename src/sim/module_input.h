// What a step is given, made anew from the records of its frame: the envelope of a receipt, a
// denial, an event in its arm, state, key and context. The simulated module is run on it, and must
// come to what the journal says. Written from the contract; shares no code with worlds/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/module_model.h"
#include "sim/plain_cbor.h"

namespace pawl::sim {

// The stamp of the frame, as its first record has it.
struct ModelStamp {
  uint64_t now_ns = 0, logical_now_ns = 0;
  std::string entropy;
};

// Contents that the world itself makes. `message` of the last two is left out: its words are free.
ModelDelivery receipt_delivery(std::string_view module, const std::string& hash,
                               const ModelIntent& intent, const PlainItem& receipt);
ModelDelivery rejected_delivery(std::string_view module, const std::string& hash,
                                const ModelIntent& intent, const PlainItem& receipt,
                                const std::string& code);
struct ModelDenial {
  ModulePlace place;
  std::string kind, params, stage, code;
  uint64_t effect_index = 0, seq = 0;
};
ModelDelivery denial_delivery(const ModelDenial& denial);
ModelDelivery event_delivery(std::string_view module, const std::string& schema,
                             const std::string& value, const std::string& hash);

// The whole input of a step.
std::string step_input_of(const ModelWorld& world, const ModulePlace& place,
                          const std::optional<std::string>& state, const ModelDelivery& delivery,
                          const ModelStamp& stamp, uint64_t seq, uint64_t ordinal);

// What a module answers.
struct ModelAnswer {
  enum class End : uint8_t { Returned, Trapped, Spent } end = End::Returned;
  std::optional<std::string> state;
  std::vector<std::pair<std::string, std::string>> effects;  // kind, params
};
ModelAnswer answer_of(uint64_t program, std::string_view module, const std::string& input);

}  // namespace pawl::sim
