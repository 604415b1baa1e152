#include "plan/secret_rule.h"

#include "expr/template/template.h"
#include "plan/builtin_actions.h"
#include "plan/findings.h"

namespace pawl::plan {
namespace {

using Verdict = SecretRule::Verdict;

constexpr std::string_view kExpressionOpen = "${{";
constexpr std::string_view kExpressionClose = "}}";
constexpr const char* kWhere =
    "a secret may be used in headers, query, body and auth of http.*, and in env of shell.exec";

bool is_credential(std::string_view member) {
  return member == "token" || member == "username" || member == "password" ||
         member == "header_value";
}

SecretRule refused(std::string why) { return {Verdict::Refused, std::move(why)}; }

SecretRule http_rule(const expr::SecretPlace& place) {
  if (place.param == "query" || place.param == "body") return {Verdict::Allowed};
  if (place.param == "headers" && !place.member.empty()) return {Verdict::Allowed};
  if (place.param == "auth" && is_credential(place.member)) return {Verdict::Allowed};
  if (place.param != "url") return refused(kWhere);
  if (place.before.find('?') != std::string_view::npos) return {Verdict::Allowed};
  return {Verdict::IfBoundToHosts,
          "in the host or path of a url only a secret that is bound to hosts may be used; "
          "the query is open to all"};
}

class SecretCheck {
 public:
  SecretCheck(Findings& findings, std::string_view action) : findings_(findings), action_(action) {}

  void visit(const Cursor& at, int depth) {
    if (at.is_string()) return text(at, at.value().as_string(), false);
    if (at.is_array()) {
      for (size_t i = 0; i < at.value().as_array().size(); ++i) visit(at.element(i), depth + 1);
      return;
    }
    if (!at.is_object()) return;
    for (size_t i = 0; i < at.value().as_object().size(); ++i) {
      const std::string& key = at.value().as_object().at(i).key;
      if (depth == 0) param_ = key, member_ = {};
      if (depth == 1) member_ = key;
      const Cursor member = at.member(i);
      text(member, key, true);
      visit(member, depth + 1);
    }
  }

 private:
  void text(const Cursor& at, std::string_view text, bool in_key) {
    if (text.find("secrets") == std::string_view::npos) return;
    for (size_t from = text.find(kExpressionOpen); from != std::string_view::npos;) {
      const size_t inner = from + kExpressionOpen.size();
      const size_t end = text.find(kExpressionClose, inner);
      if (end == std::string_view::npos) return;
      reference(at, text.substr(inner, end - inner), text.substr(0, from), in_key);
      from = text.find(kExpressionOpen, end + kExpressionClose.size());
    }
  }

  void reference(const Cursor& at, std::string_view expression, std::string_view before,
                 bool in_key) {
    const auto name = expr::plain_secret(expression);
    if (!name) return check_no_secrets(findings_, at, expression);
    if (action_.empty())
      return findings_.error(at, "secret", "a secret may not be used here", kWhere);
    const SecretRule rule = secret_rule(action_, {*name, param_, member_, before, in_key});
    if (rule.verdict == Verdict::Refused)
      findings_.error(at, "secret", "a secret may not be used here", rule.why);
  }

  Findings& findings_;
  const std::string_view action_;
  std::string_view param_, member_;
};

}  // namespace

SecretRule secret_rule(std::string_view action, const expr::SecretPlace& place) {
  // A name is compared with the others of its object, which would reveal it.
  if (place.in_key) return refused("a secret cannot be part of a name");
  if (!is_builtin_family(action)) return {Verdict::Allowed};
  if (action == "http.request" || action == "http.get" || action == "http.post")
    return http_rule(place);
  if (action == "shell.exec") {
    if (place.param == "env" && !place.member.empty()) return {Verdict::Allowed};
    return refused("others can see arguments, and a command shows what it reads; " +
                   std::string(kWhere));
  }
  if (action == "crypto.hmac" && place.param == "key")
    return {Verdict::IfListed,
            "only a secret whose actions name crypto.hmac may be the key of a signature"};
  return refused(kWhere);
}

void check_secrets(Findings& findings, const Cursor& tree, std::string_view action) {
  SecretCheck(findings, action).visit(tree, 0);
}

void check_no_secrets(Findings& findings, const Cursor& at, std::string_view expression) {
  if (!expr::touches_secrets(expression)) return;
  findings.error(at, "secret", "an expression may not name secrets: comparing is reading",
                 "use it as ${{ secrets.NAME }} and nothing else between the braces");
}

}  // namespace pawl::plan
