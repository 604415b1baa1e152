#include "front/request_edit.h"

#include <strings.h>

#include <algorithm>

#include "api/part_call.h"
#include "base/url.h"

namespace pawl::front {
namespace {

bool is_header(std::string_view name, std::string_view wanted) {
  return name.size() == wanted.size() &&
         strncasecmp(name.data(), wanted.data(), wanted.size()) == 0;
}

}  // namespace

std::string_view header_value(const http::RequestParts& request, std::string_view name) {
  for (const auto& [key, value] : request.headers)
    if (is_header(key, name)) return value;
  return {};
}

void drop_header(http::RequestParts& request, std::string_view name) {
  std::erase_if(request.headers, [&](const auto& header) { return is_header(header.first, name); });
}

void set_header(http::RequestParts& request, std::string_view name, std::string_view value) {
  drop_header(request, name);
  request.headers.emplace_back(name, value);
}

void edit_query(http::RequestParts& request, const std::vector<QueryEdit>& edits) {
  const size_t mark = std::min(request.target.find('?'), request.target.size());
  std::string made = request.target.substr(0, mark);
  char separator = '?';
  const auto add = [&](std::string_view text) {
    made += std::exchange(separator, '&');
    made += text;
  };
  std::string_view rest = std::string_view(request.target).substr(mark);
  if (!rest.empty()) rest.remove_prefix(1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto edited = [&](const QueryEdit& edit) {
      return query_param(pair, edit.name).has_value();
    };
    if (!pair.empty() && std::none_of(edits.begin(), edits.end(), edited)) add(pair);
  }
  for (const QueryEdit& edit : edits)
    if (!edit.value.empty()) add(std::string(edit.name) + "=" + percent_encode(edit.value));
  request.target = std::move(made);
}

void mark_part(http::RequestParts& request, std::string_view purpose) {
  drop_header(request, api::kPartLimitHeader);
  set_header(request, api::kPartHeader, purpose);
}

api::Call call_of(const api::Route& route, const http::RequestParts& request,
                  std::vector<std::string> params) {
  api::Call call;
  call.request = http::make_request(request);
  call.route = &route;
  call.params = std::move(params);
  call.tenant = call.request.header("x-ojs-tenant");
  return call;
}

}  // namespace pawl::front
