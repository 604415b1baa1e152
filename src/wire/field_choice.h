// ?fields=a,b: of what an answer shows, only the members that the caller names.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// Of the object that stands under `member` of the answer, or of each object of the array there,
// keeps the members named in `fields` (separated by commas). `id` and `next_cursor` always stay:
// what is shown must be told apart, and that there is more must not be hidden; nor that a member
// was left out (`output_omitted` stays with `output`). Names that nothing has are ignored, so that
// a client may ask an older server for what a newer one shows. What stands beside `member` stays,
// and so does an answer without it or too deep to be taken apart.
std::string keep_fields(std::string body, std::string_view member, std::string_view fields);

// Whether such a choice leaves this member in: what is dear to render need not be rendered for
// nothing. No choice leaves everything in.
bool is_chosen(std::string_view fields, std::string_view name);

}  // namespace pawl
