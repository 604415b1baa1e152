#include "expr/cel/types.h"

namespace pawl::expr {
namespace {

class TypeParser {
 public:
  explicit TypeParser(std::string_view text) : text_(text) {}

  Result<Type> run() {
    PAWL_TRY(Type type, type_at(0));
    if (at_ != text_.size()) return wrong();
    return type;
  }

 private:
  Error wrong() const {
    return Error{ErrorCode::Malformed, "not a type: '" + std::string(text_.substr(0, 80)) + "'"};
  }

  Result<Type> type_at(int depth) {
    if (depth > 16) return wrong();
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string name(text_.substr(from, at_ - from));
    if (name.empty()) return wrong();
    if (name == "dyn") return Type::dyn();
    if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return Type::param(name);
    Type type = Type::named(name);
    if (at_ < text_.size() && text_[at_] == '<') {
      do {
        ++at_;
        PAWL_TRY(Type param, type_at(depth + 1));
        type.params.push_back(std::move(param));
      } while (at_ < text_.size() && text_[at_] == ',');
      if (at_ >= text_.size() || text_[at_] != '>') return wrong();
      ++at_;
    }
    return type;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Whether null may stand for a value of this type.
bool nullable(const Type& type) {
  for (const std::string_view never :
       {"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"}) {
    if (type.is(never)) return false;
  }
  return true;
}

// Whether `a` is no more specific than `b`.
bool no_more_specific(const Type& a, const Type& b) {
  if (a.is_dyn() || a.form == Type::Form::Param) return true;
  if (b.is_dyn() || b.form == Type::Form::Param) return false;
  if (b.is("null")) return nullable(a);
  if (a.name != b.name || a.params.size() != b.params.size()) return false;
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (!no_more_specific(a.params[i], b.params[i])) return false;
  }
  return true;
}

}  // namespace

size_t Type::size() const {
  size_t total = 1;
  for (const Type& param : params) total += param.size();
  return total;
}

std::string Type::text() const {
  if (is_dyn()) return "dyn";
  std::string out = name.substr(0, name.find('~'));
  for (size_t i = 0; i < params.size(); ++i) out += (i == 0 ? "<" : ", ") + params[i].text();
  return params.empty() ? out : out + ">";
}

Result<Type> Type::parse(std::string_view text) { return TypeParser(text).run(); }

Type most_general(const Type& a, const Type& b) { return no_more_specific(a, b) ? a : b; }

void Substitution::set(const std::string& param, const Type& type) {
  const auto found = bound_.find(param);
  trail_.emplace_back(param,
                      found == bound_.end() ? std::nullopt : std::optional<Type>(found->second));
  bound_[param] = type;
}

void Substitution::undo(size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    auto& [param, before] = trail_.back();
    if (before) {
      bound_[param] = std::move(*before);
    } else {
      bound_.erase(param);
    }
  }
}

bool Substitution::assign(const Type& from, const Type& to) { return assign_all({from}, {to}); }

bool Substitution::assign_all(const std::vector<Type>& from, const std::vector<Type>& to) {
  if (from.size() != to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!unify(from[i], to[i])) {
      undo(0);
      return false;
    }
  }
  trail_.clear();
  return true;
}

bool Substitution::mentions(const Type& type, const std::string& param) const {
  if (type.form == Type::Form::Param) {
    if (type.name == param) return true;
    const auto found = bound_.find(type.name);
    return found != bound_.end() && mentions(found->second, param);
  }
  for (const Type& inner : type.params) {
    if (mentions(inner, param)) return true;
  }
  return false;
}

bool Substitution::bind(const Type& type, const Type& param, bool& was_bound) {
  was_bound = true;
  if (type == param) return true;
  if (const auto found = bound_.find(param.name); found != bound_.end()) {
    const Type known = found->second;
    if (type == known) return true;
    if (!unify(type, known)) return false;
    const Type general = most_general(type, known);
    if (!mentions(general, param.name)) set(param.name, general);
    return true;
  }
  was_bound = false;
  if (mentions(type, param.name)) return false;
  set(param.name, type);
  return true;
}

bool Substitution::unify(const Type& from, const Type& to) {
  bool was_bound = false;
  if (to.form == Type::Form::Param) {
    if (bind(from, to, was_bound)) return true;
    if (was_bound) return false;
  }
  if (from.form == Type::Form::Param) return bind(to, from, was_bound);
  if (from.is_dyn() || to.is_dyn()) return true;
  if (from.is("null") || to.is("null")) return nullable(from) && nullable(to);
  if (from.is("type") && to.is("type")) return true;  // types are values of one type
  if (from.name != to.name || from.params.size() != to.params.size()) return false;
  for (size_t i = 0; i < from.params.size(); ++i) {
    if (!unify(from.params[i], to.params[i])) return false;
  }
  return true;
}

Type Substitution::resolve(const Type& type, bool unbound_is_dyn) const {
  if (type.form == Type::Form::Param) {
    const auto found = bound_.find(type.name);
    if (found != bound_.end()) return resolve(found->second, unbound_is_dyn);
    return unbound_is_dyn ? Type::dyn() : type;
  }
  Type resolved = type;
  for (Type& param : resolved.params) param = resolve(param, unbound_is_dyn);
  return resolved;
}

}  // namespace pawl::expr
