// One run of a jq program. Private to jq/.
//
// A filter runs by callbacks: eval() passes each output to `out`, which returns false if it wants
// no more. False is passed up to the caller that knows the reason: signal() says whether it is an
// error, a break or a spent budget. Tail positions loop instead of calling, so a filter that
// recurses there runs in constant stack; every other nesting is paid as
// depth.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "expr/jq/ast.h"
#include "expr/regex.h"

namespace re2 {
class RE2;
}

namespace pawl::expr::jq {

inline constexpr uint32_t kPathLengthMax = 1000;
inline constexpr uint32_t kFrameChainMax = 2000;  // closures within closures are freed by recursion

struct Path {
  std::shared_ptr<const Path> up;
  Datum key;
  uint32_t length = 0;
};
using PathPtr = std::shared_ptr<const Path>;

// A value, and its path if the caller needs it (else null).
struct Item {
  Datum value;
  PathPtr path;
};

struct Frame;
using Env = std::shared_ptr<const Frame>;

// The binding of one name.
struct Frame {
  Env up;
  uint32_t chain = 1;
  Datum value;
  const Node* closure = nullptr;
  Env closure_env;
  const Function* function = nullptr;
  uint64_t label = 0;
};

class Machine;
using Arguments = const std::vector<Datum>&;
// False after machine.raise().
using NativeBody = bool (*)(Machine& machine, const Datum& in, Arguments args, Datum& out);
struct NativeEntry {
  std::string_view name;
  uint8_t args;
  NativeBody body;
};
const NativeEntry* find_native(std::string_view name, size_t args);

class Machine {
 public:
  using Emit = FunctionRef<bool(Item)>;

  Machine(const Value& variables, Budget& budget_to_spend)
      : budget(budget_to_spend), variables_(variables) {}

  bool eval(const Node* node, Env env, Item in, Emit out);

  // Always false, for returning.
  bool raise(Datum error);
  bool raise(std::string message);
  bool spent() const { return budget.exceeded() != Budget::Exceeded::None; }
  bool step(uint64_t steps = 1) { return budget.spend_steps(steps); }
  // The regular expression with jq's flags; null after raise().
  const re2::RE2* regex(const std::string& pattern, std::string_view flags);

  const Datum& error() const { return error_; }
  uint32_t error_offset() const { return error_offset_; }

  Budget& budget;

 private:
  enum class Signal : uint8_t { None, Error, Break };
  using Each = FunctionRef<bool(Datum)>;
  using EachEnv = FunctionRef<bool(Env)>;

  bool enter(const Node* node);
  bool dispatch(const Node& node, const Env& env, Item& in, Emit out);
  // At most one output, for nodes that are `single`.
  bool one(const Node& node, const Env& env, Item in, Item& result, bool& got);
  // The outputs as plain values.
  bool values(const Node& node, const Env& env, const Datum& in, Each each);
  bool first_value(const Node& node, const Env& env, Datum in, Datum& result, bool& got);
  bool collect(const Node& node, const Env& env, const Datum& in, Datum::Array& into);
  bool collect_paths(const Node& node, const Env& env, const Datum& in, Datum::Array& into);
  // Runs the filter until `each` sets its second argument.
  bool until_stopped(const Node& node, const Env& env, Item in,
                     FunctionRef<bool(Item, bool&)> each);

  bool bound(const Node& node, const Env& env, Item& in, Emit out);
  bool negate(const Node& node, const Env& env, Item& in, Emit out);
  bool format(const Node& node, const Item& in, Emit out);
  bool array(const Node& node, const Env& env, const Item& in, Emit out);
  bool index(const Node& node, const Env& env, Item& in, Emit out);
  bool slice(const Node& node, const Env& env, Item& in, Emit out);
  bool iterate(const Node& node, const Env& env, Item& in, Emit out);
  bool iterate_item(const Item& of, Emit out);
  bool string(const Node& node, const Env& env, Item& in, Emit out, size_t part,
              const std::string& text);
  bool object(const Node& node, const Env& env, Item& in, Emit out, size_t entry,
              const Datum::Object& members);
  bool binary(const Node& node, const Env& env, Item& in, Emit out);
  bool logic(const Node& node, const Env& env, Item& in, Emit out);
  bool alternative(const Node& node, const Env& env, Item& in, Emit out);
  bool assign(const Node& node, const Env& env, Item& in, Emit out);
  bool update(const Node& node, const Env& env, Item& in, Emit out);
  bool attempt(const Node& node, const Env& env, Item& in, Emit out);
  bool reduce(const Node& node, const Env& env, Item& in, Emit out);
  bool foreach (const Node& node, const Env& env, Item & in, Emit out);
  bool label(const Node& node, const Env& env, Item& in, Emit out);
  bool variable(const Node& node, const Env& env, Item& in, Emit out);
  bool native(const Node& node, const Env& env, const Item& in, Emit out, std::vector<Datum>& args);

  // Names. bind() gives one environment per match of the pattern; an error tries the next pattern
  // unless it came from `downstream`, the consumer of the outputs.
  bool bind(const Node& node, const Env& env, const Datum& in, Datum value, const bool& downstream,
            EachEnv body);
  struct Work {
    const Pattern* pattern;
    Datum value;
    size_t entry;
  };
  bool destructure(const Node& node, const Env& env, const Datum& in, std::vector<Work> work,
                   std::vector<Datum>& bound, EachEnv body);
  Env push(Env up, Frame frame);
  static const Frame& frame_at(const Env& env, uint32_t hops);
  static Env env_at(const Env& env, uint32_t hops);
  bool call_with_values(const Function& function, const Node& node, const Env& env, Env callee,
                        size_t param, Item& in, Emit out);
  // Sets up a tail call; false if it must be done by call_with_values().
  bool prepare_call(const Node& node, Env& env, Item& in, const Node*& next, bool& ok);

  bool special(const Node& node, const Env& env, Item& in, Emit out);
  bool range(const Node& node, const Env& env, Item& in, Emit out);
  bool limit(const Node& node, const Env& env, Item& in, Emit out);
  bool last(const Node& node, const Env& env, Item& in, Emit out);
  bool loop(const Node& node, const Env& env, Item& in, Emit out);
  bool loop_step(const Node& node, const Env& env, const Item& item, Emit out,
                 std::vector<Item>& next);
  bool any_all(const Node& node, const Env& env, Item& in, Emit out);
  bool sort_by(const Node& node, const Env& env, Item& in, Emit out);
  bool substitute(const Node& node, const Env& env, Item& in, Emit out);
  bool get_path(const Node& node, const Env& env, Item& in, Emit out);

  // A value that was computed, not reached by a path.
  static Item fresh(const Item& in, Datum value);
  bool extend(const Item& of, Datum key, PathPtr& path);
  bool is_path(const Item& item);

  const Value& variables_;
  uint32_t depth_ = 0;
  Signal signal_ = Signal::None;
  uint64_t break_label_ = 0;
  uint64_t labels_ = 0;
  Datum error_;
  uint32_t error_offset_ = kNowhere;
  uint32_t place_ = kNowhere;
  std::map<std::string, Regex, std::less<>> regexes_;
};

// Values by path. False with a message on failure, also when the budget is spent.
bool index_value(const Datum& of, const Datum& key, Datum& out, Budget& budget, std::string& error);
bool slice_value(const Datum& of, const Datum& from, const Datum& to, Datum& out, Budget& budget,
                 std::string& error);
bool get_path(const Datum& of, const Datum& path, Datum& out, Budget& budget, std::string& error);
bool set_path(Datum& root, const Datum& path, Datum value, Budget& budget, std::string& error);
bool delete_paths(Datum& root, const Datum::Array& paths, Budget& budget, std::string& error);
Datum path_datum(const PathPtr& path, Budget& budget);
Datum slice_key(const Datum& from, const Datum& to, Budget& budget);

// + - * / % as jq has them; false with a message.
bool arithmetic(Op op, Datum a, const Datum& b, Datum& out, Budget& budget, std::string& error);
bool compares(Op op, const Datum& a, const Datum& b, Budget& budget);
// A value in an error message: its type and some of it.
std::string described(const Datum& value, Budget& budget);

// Text of a value as @name writes it; false after machine.raise().
bool format_value(Machine& machine, std::string_view name, const Datum& value, std::string& out);
bool is_format(std::string_view name);
// Where a regular expression matches: byte ranges of the whole and of its groups, SIZE_MAX for a
// group that took no part. False after machine.raise().
struct Match {
  struct Range {
    size_t begin = SIZE_MAX;
    size_t end = SIZE_MAX;
  };
  std::vector<Range> groups;  // [0] is the whole
};
bool find_matches(Machine& machine, const Datum& in, const Datum& pattern, const Datum& flags,
                  bool global, std::vector<Match>& out, const re2::RE2*& regex);
// The named groups of a match as an object.
Datum captured(Machine& machine, const std::string& text, const Match& match,
               const re2::RE2& regex);

std::vector<NativeEntry> core_natives();
std::vector<NativeEntry> math_natives();
std::vector<NativeEntry> text_natives();
std::vector<NativeEntry> regex_natives();
std::vector<NativeEntry> time_natives();

}  // namespace pawl::expr::jq
