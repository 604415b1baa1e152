// Editing requests: changes of a client's request for what the partitions are asked. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/router.h"
#include "http/answer_sink.h"

namespace pawl::front {

// "" if it was not sent.
std::string_view header_value(const http::RequestParts& request, std::string_view name);
void set_header(http::RequestParts& request, std::string_view name, std::string_view value);
void drop_header(http::RequestParts& request, std::string_view name);

struct QueryEdit {
  std::string_view name;
  std::string value;  // "" = it goes
};
// Each name is sent once or not at all; the other parameters stay as they are.
void edit_query(http::RequestParts& request, const std::vector<QueryEdit>& edits);

// Marks the request as that of a part (api/part_call.h); a client's own marks go.
void mark_part(http::RequestParts& request, std::string_view purpose = "1");

// The request as a handler sees it; it is not answered by that.
api::Call call_of(const api::Route& route, const http::RequestParts& request,
                  std::vector<std::string> params = {});

}  // namespace pawl::front
