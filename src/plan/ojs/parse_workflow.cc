#include "plan/ojs/parse_workflow.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "expr/cel/program.h"
#include "expr/template/template.h"

namespace pawl {
namespace {

// The budget for compiling all its expressions: the engine thread parses workflows of steps.
constexpr uint64_t kCompileStepsMax = 1'000'000;
constexpr size_t kWorkflowNameBytesMax = 255;
constexpr size_t kClientIdBytesMax = 255;
constexpr int64_t kTimeoutMost = 366LL * 24 * 3600 * 1000;
constexpr std::string_view kRoles[kCallbackRoles] = {"on_complete", "on_success", "on_failure",
                                                     "on_cancel"};

class WorkflowParser {
 public:
  explicit WorkflowParser(const EnvelopeRules& rules) : rules_(rules) {}

  Result<PlanNode> run(json::View body) {
    PlanNode plan = composition(body, "$", 1);
    if (complaints_.empty()) return plan;
    return Error{
        ErrorCode::InvalidWorkflow,
        "Workflow validation failed: " + complaints_[0].path + " " + complaints_[0].message,
        complaints_};
  }

 private:
  void complain(const std::string& path, std::string message) {
    if (complaints_.size() < 100) complaints_.push_back({path, std::move(message)});
  }
  static bool present(const std::optional<json::View>& value) { return value && !value->is_null(); }

  std::string text(json::View object, std::string_view name, const std::string& path,
                   size_t bytes_max) {
    auto value = object.find(name);
    if (!present(value)) return "";
    if (!value->is_string() || value->raw().size() > bytes_max + 2) {
      complain(path + "." + std::string(name),
               "must be a string of at most " + std::to_string(bytes_max) + " bytes");
      return "";
    }
    return value->string();
  }
  int64_t integer(json::View object, std::string_view name, const std::string& path, int64_t most) {
    auto value = object.find(name);
    if (!present(value)) return 0;
    auto number = value->as_int();
    if (number && *number >= 0 && *number <= most) return *number;
    complain(path + "." + std::string(name),
             "must be a whole number from 0 to " + std::to_string(most));
    return 0;
  }

  // A job may be typed "group"; it is a composition only if it also holds children.
  static RunKind kind_of(json::View node) {
    if (!node.is_object()) return RunKind::None;
    auto type = node.find("type");
    bool has_steps = present(node.find("steps"));
    bool has_jobs = present(node.find("jobs"));
    if (type && type->equals("chain") && (has_steps || !node.find("args"))) return RunKind::Chain;
    if (type && type->equals("group") && (has_jobs || !node.find("args"))) return RunKind::Group;
    if (type && type->equals("batch") && (has_jobs || !node.find("args"))) return RunKind::Batch;
    if (type && type->equals("map") && (present(node.find("over")) || !node.find("args")))
      return RunKind::Map;
    if (type && type->equals("dag") && (has_steps || !node.find("args"))) return RunKind::Dag;
    if (!type && has_steps) return RunKind::Dag;
    return RunKind::None;
  }

  PlanNode composition(json::View body, const std::string& path, size_t depth) {
    PlanNode plan;
    plan.kind = NodeKind::Run;
    if (!body.is_object()) return complain(path, "must be an object"), plan;
    plan.run_kind = kind_of(body);
    if (plan.run_kind == RunKind::None)
      return complain(path + ".type", "must be one of chain, group, batch, dag, map"), plan;
    if (depth > kPlanDepthMax)
      return complain(path, "is nested deeper than " + std::to_string(kPlanDepthMax) + " levels"),
             plan;
    plan.name = text(body, "name", path, kWorkflowNameBytesMax);
    read_id(plan, body, path);
    plan.timeout_ms = integer(body, "timeout_ms", path, kTimeoutMost);
    std::string on_timeout = text(body, "on_timeout", path, 16);
    if (!on_timeout.empty() && on_timeout != "fail" && on_timeout != "cancel")
      complain(path + ".on_timeout", "must be fail or cancel");
    plan.on_timeout = on_timeout == "cancel" ? RunTimeout::Cancel : RunTimeout::Fail;
    if (auto meta = body.find("meta"); present(meta)) {
      if (!meta->is_object() || meta->raw().size() > kMetaBytesMax)
        complain(path + ".meta", "must be an object of at most 64 KiB");
      plan.meta = meta->raw();
    }
    bool has_defaults = read_defaults(body, path);
    if (plan.run_kind == RunKind::Map) {
      read_map(plan, body, path);
    } else {
      read_children(plan, body, path, depth);
    }
    read_callbacks(plan, body, path);
    if (has_defaults) rules_.defaults.erase(rules_.defaults.begin());
    return plan;
  }

  // Options of a workflow are the defaults of all its jobs.
  bool read_defaults(json::View body, const std::string& path) {
    auto options = body.find("options");
    if (!present(options)) return false;
    if (!options->is_object()) return complain(path + ".options", "must be an object"), false;
    rules_.defaults.insert(rules_.defaults.begin(), *options);
    return true;
  }

  void read_id(PlanNode& plan, json::View body, const std::string& path) {
    std::string id = text(body, "id", path, kClientIdBytesMax);
    if (id.empty()) return;
    plan.id = workflow_id(id, rules_.partitions);
    if (id != plan.id.text()) plan.client_id = id;
  }

  void read_children(PlanNode& plan, json::View body, const std::string& path, size_t depth) {
    bool ordered = plan.run_kind == RunKind::Chain || plan.run_kind == RunKind::Dag;
    std::string list_name = ordered ? "steps" : "jobs";
    auto list = body.find(list_name);
    std::string list_path = path + "." + list_name;
    if (!present(list)) return complain(list_path, "is required");
    if (!list->is_array()) return complain(list_path, "must be an array");
    if (list->size() == 0)
      return complain(list_path, list_name + " array must contain at least one element");
    if (list->size() > kRunChildrenMax)
      return complain(list_path,
                      "holds more than " + std::to_string(kRunChildrenMax) + " elements");
    bool linked = plan.run_kind == RunKind::Dag;
    list->each_element([&](json::View element) {
      linked |= element.is_object() && present(element.find("depends_on"));
    });
    if (linked) plan.run_kind = RunKind::Dag;
    std::vector<PlanNode> nodes;
    list->each_element([&](json::View element) {
      nodes.push_back(
          child(element, list_path + "[" + std::to_string(nodes.size()) + "]", depth, linked));
      plan.named_steps |=
          !nodes.back().step_id.empty() && (ordered || nodes.back().kind == NodeKind::Job);
    });
    if (linked) {
      link(nodes, *list, list_path);
      take_callback_steps(plan, nodes, *list, list_path);
    }
    for (PlanNode& node : nodes) {
      plan.job_count += node.kind == NodeKind::Job ? 1 : node.job_count;
      plan.children.push_back(codec::encoded(node));
    }
  }

  // linked: the id only names the step. Elsewhere it may be the job's id, as in any envelope.
  PlanNode child(json::View element, const std::string& path, size_t depth, bool linked) {
    PlanNode node;
    if (kind_of(element) != RunKind::None) {
      node = composition(element, path, depth + 1);
      if (element.find("id")) node.step_id = text(element, "id", path, kClientIdBytesMax);
    } else {
      if (element.is_object()) {
        node.name = text(element, "name", path, kWorkflowNameBytesMax);
        if (linked || !has_job_id(element)) node.step_id = step_id(element, path);
      }
      node.job = job(element, path, !node.step_id.empty());
    }
    if (!element.is_object()) return node;
    node.when = text(element, "when", path, 4096);
    check_expression(node.when, path + ".when");
    return node;
  }

  void check_expression(const std::string& source, const std::string& path) {
    if (source.empty()) return;
    if (compiling_.exceeded() != expr::Budget::Exceeded::None) return;
    auto compiled = expr::Program::compile(expr::unwrap_template(source),
                                           expr::CompileOptions::workflow(), compiling_);
    if (compiled.ok()) return;
    complain(path, compiling_.exceeded() == expr::Budget::Exceeded::None
                       ? compiled.error().message
                       : "the expressions of the workflow take more than " +
                             std::to_string(kCompileStepsMax) +
                             " steps to compile, all together up to here");
  }

  static bool has_job_id(json::View element) {
    auto id = element.find("id");
    auto parsed = id && id->is_string() ? JobId::parse(id->string()) : std::nullopt;
    return parsed && parsed->is_v7();
  }

  std::string step_id(json::View element, const std::string& path) {
    auto id = element.find("id");
    if (id && id->equals("")) complain(path + ".id", "must not be empty");
    return text(element, "id", path, kClientIdBytesMax);
  }

  std::string job(json::View element, const std::string& path, bool is_named = false) {
    rules_.id_is_name = is_named;
    auto parsed = parse_job(element, rules_, path);
    if (!parsed.ok()) {
      if (parsed.error().complaints.empty()) {
        complain(path, parsed.error().message);
      } else {
        complain(parsed.error().complaints[0].path.rfind(path, 0) == 0
                     ? parsed.error().complaints[0].path
                     : path,
                 parsed.error().complaints[0].message);
      }
      return "";
    }
    drop_step_members(*parsed);
    return codec::encoded(*parsed);
  }

  // Members of the step must not be part of the job's envelope.
  static void drop_step_members(NewJob& job) {
    JobSpec spec;
    if (!codec::decode(job.spec, spec) || spec.extra.empty()) return;
    std::string text = "{" + spec.extra + "}";
    auto doc = json::parse(text);
    if (!doc.ok()) return;
    std::string kept;
    doc->root().each_member([&](json::View key, json::View value) {
      std::string name = key.string();
      if (name == "depends_on" || name == "when" || name == "name") return;
      if (!kept.empty()) kept.push_back(',');
      kept.append(key.raw()).append(":").append(value.raw());
    });
    spec.extra = kept;
    job.spec = codec::encoded(spec);
  }

  // --- depends_on

  void link(std::vector<PlanNode>& nodes, json::View list, const std::string& list_path) {
    std::map<std::string, uint32_t> by_name;
    std::vector<json::View> elements;
    list.each_element([&](json::View element) { elements.push_back(element); });
    for (uint32_t i = 0; i < nodes.size(); ++i)
      add_name(by_name, i, nodes[i].step_id, list_path, "id");
    for (uint32_t i = 0; i < nodes.size(); ++i)
      add_name(by_name, i, nodes[i].name, list_path, "name");
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      auto wanted = elements[i].is_object() ? elements[i].find("depends_on") : std::nullopt;
      std::string path = list_path + "[" + std::to_string(i) + "].depends_on";
      if (!present(wanted)) continue;
      if (!wanted->is_array()) {
        complain(path, "must be an array of step names");
        continue;
      }
      std::set<uint32_t> known;
      wanted->each_element(
          [&](json::View entry) { add_dependency(nodes, i, entry, by_name, known, path); });
    }
    find_cycle(nodes, list_path);
  }

  // A step is named by its id, or by its name if that is not another step's id.
  void add_name(std::map<std::string, uint32_t>& by_name, uint32_t index, const std::string& name,
                const std::string& list_path, const std::string& member) {
    if (name.empty()) return;
    auto [at, is_new] = by_name.emplace(name, index);
    if (!is_new && at->second != index)
      complain(list_path + "[" + std::to_string(index) + "]." + member,
               "names a step that another is named too");
  }

  void add_dependency(std::vector<PlanNode>& nodes, uint32_t i, json::View entry,
                      const std::map<std::string, uint32_t>& by_name, std::set<uint32_t>& known,
                      const std::string& path) {
    std::string name = entry.is_string() ? entry.string() : std::string(entry.raw());
    auto at = by_name.find(name);
    uint32_t index =
        at != by_name.end() ? at->second : static_cast<uint32_t>(entry.as_int().value_or(-1));
    if (index >= nodes.size())
      return complain(path, "names the unknown step '" + name.substr(0, 64) + "'");
    if (index == i) return complain(path, "names its own step");
    if (known.insert(index).second) nodes[i].depends_on.push_back(index);
  }

  void find_cycle(const std::vector<PlanNode>& nodes, const std::string& list_path) {
    std::vector<uint32_t> waits(nodes.size());
    std::vector<std::vector<uint32_t>> dependents(nodes.size());
    std::vector<uint32_t> ready;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      waits[i] = static_cast<uint32_t>(nodes[i].depends_on.size());
      if (waits[i] == 0) ready.push_back(i);
      for (uint32_t dependency : nodes[i].depends_on) dependents[dependency].push_back(i);
    }
    size_t done = 0;
    while (!ready.empty()) {
      uint32_t at = ready.back();
      ready.pop_back();
      ++done;
      for (uint32_t next : dependents[at])
        if (--waits[next] == 0) ready.push_back(next);
    }
    if (done == nodes.size()) return;
    std::string cycle;
    for (uint32_t i = 0; i < nodes.size(); ++i)
      if (waits[i] > 0)
        cycle += (cycle.empty() ? "" : ", ") + (!nodes[i].name.empty()      ? nodes[i].name
                                                : !nodes[i].step_id.empty() ? nodes[i].step_id
                                                                            : std::to_string(i));
    complain(list_path, "the dependencies form a cycle: " + cycle.substr(0, 200));
  }

  // --- callbacks that come as steps

  // Some clients send a batch as steps: jobs without dependencies, and steps that depend on all of
  // them and are callbacks by their options or id. Any other form is a dag, unless the options name
  // a callback.
  void take_callback_steps(PlanNode& plan, std::vector<PlanNode>& nodes, json::View list,
                           const std::string& list_path) {
    std::vector<size_t> roles;
    bool is_said = false;
    uint32_t index = 0;
    list.each_element([&](json::View element) {
      std::string path = list_path + "[" + std::to_string(index++) + "]";
      roles.push_back(role_of_step(element, path, is_said));
    });
    if (!complaints_.empty()) return;
    auto is_role = [](size_t role) { return role < kCallbackRoles; };
    size_t jobs = static_cast<size_t>(
        std::count_if(roles.begin(), roles.end(), [&](size_t role) { return !is_role(role); }));
    if (jobs == roles.size()) return;
    bool fits = jobs > 0;
    std::set<size_t> taken;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::vector<uint32_t>& wanted = nodes[i].depends_on;
      fits &= is_role(roles[i]) ? nodes[i].kind == NodeKind::Job && nodes[i].when.empty() &&
                                      (wanted.size() == jobs || (is_said && wanted.empty()))
                                : wanted.empty();
      for (uint32_t dependency : wanted) fits &= !is_role(roles[dependency]);
      if (is_role(roles[i])) fits &= taken.insert(roles[i]).second;
    }
    if (!fits && is_said)
      return complain(list_path,
                      "steps with a callback_type belong to a batch: each depends on all other "
                      "steps, those on none, and there is one of each type");
    if (fits) become_batch(plan, nodes, roles);
  }

  // The callback role of a step, by its options or its id; kCallbackRoles if it is not a callback.
  size_t role_of_step(json::View element, const std::string& path, bool& is_said) {
    auto options = element.is_object() ? element.find("options") : std::nullopt;
    auto said =
        present(options) && options->is_object() ? options->find("callback_type") : std::nullopt;
    size_t outcomes = static_cast<size_t>(CallbackRole::OnCancel);
    if (present(said)) {
      is_said = true;
      for (size_t role = 0; role < outcomes; ++role)
        if (said->equals(kRoles[role])) return role;
      complain(path + ".options.callback_type", "must be on_complete, on_success or on_failure");
      return kCallbackRoles;
    }
    auto id = element.is_object() ? element.find("id") : std::nullopt;
    std::string text = id && id->is_string() ? id->string() : "";
    std::replace(text.begin(), text.end(), '-', '_');
    for (size_t role = 0; role < outcomes; ++role)
      if (text == kRoles[role]) return role;
    return kCallbackRoles;
  }

  static void become_batch(PlanNode& plan, std::vector<PlanNode>& nodes,
                           const std::vector<size_t>& roles) {
    plan.run_kind = RunKind::Batch;
    plan.callbacks.resize(kCallbackRoles);
    plan.callback_ids.resize(kCallbackRoles);
    std::vector<PlanNode> jobs;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (roles[i] == kCallbackRoles) {
        jobs.push_back(std::move(nodes[i]));
        continue;
      }
      plan.callbacks[roles[i]] = std::move(nodes[i].job);
      plan.callback_ids[roles[i]] =
          nodes[i].step_id.empty() ? std::string(kRoles[roles[i]]) : nodes[i].step_id;
    }
    nodes = std::move(jobs);
    plan.named_steps = true;
  }

  // --- map, callbacks

  void read_map(PlanNode& plan, json::View body, const std::string& path) {
    auto over = body.find("over");
    if (!present(over))
      return complain(path + ".over", "is required: a list, or an expression that gives one");
    plan.over = over->is_array()    ? std::string(over->raw())
                : over->is_string() ? over->string()
                                    : "";
    if (plan.over.empty()) return complain(path + ".over", "must be an array or an expression");
    if (!over->is_array()) check_expression(plan.over, path + ".over");
    plan.concurrency = static_cast<uint32_t>(integer(body, "concurrency", path, kRunChildrenMax));
    auto body_job = body.find("job");
    if (!present(body_job))
      return complain(path + ".job", "is required: the job to run for each item");
    PlanNode node;
    node.job = job(*body_job, path + ".job");
    plan.children.push_back(codec::encoded(node));
  }

  // An id that is not a job id names the step, as with other steps.
  std::string callback(PlanNode& plan, size_t role, json::View value, const std::string& path) {
    std::string name = value.is_object() && !has_job_id(value) ? step_id(value, path) : "";
    if (!name.empty()) {
      plan.callback_ids.resize(kCallbackRoles);
      plan.callback_ids[role] = name;
    }
    return job(value, path, !name.empty());
  }

  void read_callbacks(PlanNode& plan, json::View body, const std::string& path) {
    auto callbacks = body.find("callbacks");
    auto on_cancel = body.find("on_cancel");
    bool is_batch = plan.run_kind == RunKind::Batch;
    bool has_some = !plan.callbacks.empty();
    if (!present(callbacks) && !present(on_cancel)) {
      if (is_batch && !has_some)
        complain(
            path + ".callbacks",
            "is required and must contain at least one of on_complete, on_success, on_failure");
      return;
    }
    plan.callbacks.resize(kCallbackRoles);
    bool any = has_some;
    if (present(callbacks)) {
      if (!callbacks->is_object()) return complain(path + ".callbacks", "must be an object");
      callbacks->each_member([&](json::View key, json::View value) {
        size_t role = 0;
        while (role < kCallbackRoles && !key.equals(kRoles[role])) ++role;
        std::string member = path + ".callbacks." + key.string().substr(0, 64);
        if (value.is_null()) return;
        if (role == kCallbackRoles)
          return complain(
              member,
              "is no callback; there are on_complete, on_success, on_failure and on_cancel");
        if (!is_batch && role != static_cast<size_t>(CallbackRole::OnCancel))
          return complain(member, "belongs to a batch");
        plan.callbacks[role] = callback(plan, role, value, member);
        any |= role != static_cast<size_t>(CallbackRole::OnCancel);
      });
    }
    constexpr size_t kOnCancel = static_cast<size_t>(CallbackRole::OnCancel);
    if (present(on_cancel))
      plan.callbacks[kOnCancel] = callback(plan, kOnCancel, *on_cancel, path + ".on_cancel");
    if (is_batch && !any && complaints_.empty())
      complain(path + ".callbacks",
               "must contain at least one of on_complete, on_success, on_failure");
  }

  EnvelopeRules rules_;
  std::vector<Complaint> complaints_;
  expr::Budget compiling_{expr::BudgetLimits{.steps_max = kCompileStepsMax}};
};

}  // namespace

Result<PlanNode> parse_workflow(json::View body, const EnvelopeRules& rules) {
  return WorkflowParser(rules).run(body);
}

RunId workflow_id(std::string_view text, uint16_t partitions) {
  std::string_view bare = text.substr(0, 3) == "wf_" ? text.substr(3) : text;
  if (auto id = RunId::parse(bare)) return *id;
  // Servers of one partition have always made these ids with zeros at the end.
  const uint64_t home = partitions == 1 ? 0 : hash64(text, 3);
  return RunId(Uuid::v7(0, hash64(text, 1), hash64(text, 2), static_cast<uint16_t>(home)));
}

}  // namespace pawl
