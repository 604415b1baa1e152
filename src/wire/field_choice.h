// ?fields=a,b: keeps only the named members of an answer.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// In the object under `member` of the answer, or in each object of the array there, keeps the
// members named in `fields` (separated by commas). `id` and `next_cursor` always stay, so that
// objects can be identified and further pages are visible; so does the marker of an omitted member
// (`output_omitted` stays with `output`). Unknown names are ignored, so that a client may send
// names of a newer server to an older one. Members beside `member` stay; an answer without
// `member`, or too deeply nested, is unchanged.
std::string keep_fields(std::string body, std::string_view member, std::string_view fields);

// Whether `fields` includes this member, so that expensive members need not be rendered in vain.
// Empty `fields` includes everything.
bool is_chosen(std::string_view fields, std::string_view name);

}  // namespace pawl
