#include "front/merge.h"

#include <algorithm>

#include "api/paging.h"
#include "base/read_number.h"
#include "front/merge_bulk.h"
#include "front/request_edit.h"

namespace pawl::front {
namespace {

using Shape = MergeRule::Shape;

struct ListQuestion {
  const ListRule* rule;
  api::Page page;
};

// Workflows are listed by page number, or by cursor with a page that is nothing but its limit.
Result<ListQuestion> read_list_question(const MergeRule& rule, const api::Call& call) {
  if (rule.list != &workflows_by_cursor()) {
    PAWL_TRY(api::Page page, api::parse_page(call, rule.list->limit_usual));
    return ListQuestion{rule.list, std::move(page)};
  }
  const bool numbered = !call.query("page").empty() || !call.query("per_page").empty();
  if (numbered && call.query("cursor").empty()) {
    PAWL_TRY(api::Page page, api::parse_page(call));
    return ListQuestion{&workflows_by_page(), std::move(page)};
  }
  ListQuestion question{rule.list, {}};
  (void)read_number(call.query("limit"), question.page.limit);  // else the partitions refuse it
  question.page.cursor = call.query("cursor");
  return question;
}

http::Response failed(const api::Route& route, const http::RequestParts& request,
                      const Error& error) {
  return api::error_response(api::surface_of_path(route.pattern), error, request.id);
}

http::Response answered(const api::Route& route, std::string body) {
  return api::json_response(api::surface_of_path(route.pattern), 200, std::move(body));
}

http::Response merge_pages(const MergeRule& rule, const api::Route& route,
                           const http::RequestParts& request,
                           const std::vector<http::Response>& answers, const MergeAbout& about) {
  const api::Call call = call_of(route, request);
  auto question = read_list_question(rule, call);
  if (!question.ok()) return failed(route, request, question.error());
  std::vector<std::string_view> bodies;
  for (const http::Response& answer : answers) bodies.push_back(answer.body);
  auto body = merge_list(*question->rule, question->page, bodies, &about);
  if (!body.ok()) return failed(route, request, body.error());
  return answered(route, std::move(body).value());
}

http::Response merge_things(const MergeRule& rule, const api::Route& route,
                            const http::RequestParts& request,
                            const std::vector<http::Response>& answers, const Asked& asked,
                            const MergeAbout& about) {
  std::vector<Value> values;
  for (size_t i = 0; i < answers.size(); ++i) {
    const http::Response& answer = answers[i];
    if (answer.status >= 400) continue;
    auto value = Value::parse(answer.body);
    if (!value.ok() || !value->is_object())
      return failed(route, request,
                    {ErrorCode::Internal, "a partition gave an answer that cannot be merged"});
    if (rule.prepare != nullptr) rule.prepare(value->as_object(), asked.parts[i].partition, about);
    values.push_back(std::move(value).value());
  }
  std::vector<const Value::Object*> objects;
  for (const Value& value : values) objects.push_back(&value.as_object());
  Value::Object joined = join_objects(*rule.recipe, objects);
  if (rule.finish != nullptr) rule.finish(joined, about);
  return answered(route, Value(std::move(joined)).json());
}

}  // namespace

const http::Response* failure_among(const std::vector<http::Response>& answers) {
  const auto found = [&](auto&& test) -> const http::Response* {
    const auto at = std::find_if(answers.begin(), answers.end(), test);
    return at == answers.end() ? nullptr : &*at;
  };
  if (auto* broken = found([](const http::Response& one) { return one.status >= 500; }))
    return broken;
  if (found([](const http::Response& one) { return one.status < 400; })) {
    // What a partition refuses for another reason than that it does not have it, it refuses for
    // all.
    return found([](const http::Response& one) { return one.status >= 400 && one.status != 404; });
  }
  return found([](const http::Response& one) { return one.status >= 400; });
}

Result<Asked> ask_parts(const api::Route& route, const http::RequestParts& request,
                        uint16_t partitions) {
  Asked asked{.request = request};
  mark_part(asked.request);
  const MergeRule* rule = merge_rule_of(route);
  asked.needs_workers = rule != nullptr && rule->needs_workers;
  asked.needs_node = rule != nullptr && rule->needs_node;
  if (rule != nullptr && rule->shape == Shape::Bulk) {
    asked.parts = divide_bulk(request.body, partitions);
    return asked;
  }
  if (rule != nullptr && rule->shape == Shape::List) {
    auto question = read_list_question(*rule, call_of(route, request));
    // What is no good is refused by the partitions.
    if (question.ok()) PAWL_TRY_DO(ask_for_list(*question->rule, question->page, asked.request));
  }
  for (uint16_t k = 0; k < partitions; ++k) asked.parts.push_back({k, request.body});
  return asked;
}

http::Response merge_answers(const api::Route& route, const http::RequestParts& request,
                             const Asked& asked, std::vector<http::Response>&& answers,
                             const MergeAbout& about) {
  const MergeRule* rule = merge_rule_of(route);
  const auto good = [](const http::Response& one) { return one.status < 400; };
  if (rule != nullptr && rule->shape == Shape::Bulk &&
      std::any_of(answers.begin(), answers.end(), good))
    return answered(route, merge_bulk(request.body, asked.parts, answers));
  if (const http::Response* failure = failure_among(answers)) return *failure;
  if (rule == nullptr) return std::move(answers.front());
  return rule->shape == Shape::List ? merge_pages(*rule, route, request, answers, about)
                                    : merge_things(*rule, route, request, answers, asked, about);
}

}  // namespace pawl::front
