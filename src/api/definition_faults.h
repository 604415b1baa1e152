// Definitions in request bodies: reads them, JSON or YAML, and reports their faults.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "api/app.h"
#include "api/body.h"
#include "plan/definition.h"

namespace pawl::api {

// The body as JSON. A YAML body (by its Content-Type) is replaced by its JSON.
Result<json::Doc> parse_definition_body(Call& call);

// With the server's actions known; lenient if the call says so.
plan::ReadResult read_given(App& app, const Call& call, const std::string& text);

// [{path, code, message, hint?, line?}]
std::string faults_json(const std::vector<plan::Fault>& faults);
// InvalidContent that carries every fault, their paths behind `prefix`.
Error fault_error(const plan::ReadResult& read, std::string_view prefix);

// Complains about members that are not in the list, unless the call is lenient.
void refuse_unknown(const Call& call, Fields& fields, std::initializer_list<std::string_view> known,
                    bool strict = true);
void refuse_unknown(Fields& fields, std::initializer_list<std::string_view> known);
bool is_lenient(const Call& call);

}  // namespace pawl::api
