// Cron entries as clients send them → CronSpec. Two spellings are about: `expression` with a
// `job_template`, and `cron` with the job's members beside it.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "kernel/state.h"

namespace pawl::api {

constexpr size_t kCronNameBytesMax = 255;

// name_of_path: from the URL, if the name stands there; "" otherwise. InvalidRequest for what is
// missing, InvalidContent for an expression, time zone or template that cannot be used. Times in
// the template are refused: a cron's jobs are pushed when they are due.
Result<CronSpec> parse_cron(const json::Doc& doc, std::string_view name_of_path,
                            std::string_view tenant);

// A job's envelope → CronSpec::job, with the same refusals. path: where it stands in the request.
Result<std::string> parse_job_template(const std::string& text, const std::string& path,
                                       std::string_view cron_name, std::string_view tenant);
// What a push takes in `options` or beside it: queue, priority, retry, …
bool is_job_option(std::string_view name);
// The envelope with such members in its `options`: there is one place to change them then.
std::string with_options_gathered(json::View envelope);
// The members of that envelope.
void render_job_template(json::Writer& w, const CronSpec& cron);

std::string_view overlap_name(CronOverlap overlap);

// The entry as one object, in both spellings.
void render_cron(json::Writer& w, const Cron& cron);
// Its members but `cron`, for replies that have an object under that name.
void render_cron_members(json::Writer& w, const Cron& cron);

}  // namespace pawl::api
