// Cron entries as clients send them → CronSpec. There are two spellings: `expression` with a
// `job_template`, and `cron` with the job's members beside it.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "journal/events.h"

namespace pawl {
struct Cron;
}

namespace pawl::api {

constexpr size_t kCronNameBytesMax = 255;

// name_of_path: the name in the URL, or "". InvalidRequest for missing members, InvalidContent for
// an expression, time zone or template that cannot be used. Times in the template are refused: a
// cron's jobs are pushed when they are due.
Result<CronSpec> parse_cron(const json::Doc& doc, std::string_view name_of_path,
                            std::string_view tenant);

// A job's envelope → CronSpec::job, with the same errors. path: its place in the request.
Result<std::string> parse_job_template(const std::string& text, const std::string& path,
                                       std::string_view cron_name, std::string_view tenant);
// The options of a push: queue, priority, retry, … …
bool is_job_option(std::string_view name);
// Moves such members into `options`, so that there is one place to change them.
std::string with_options_gathered(json::View envelope);
// The members of that envelope.
void render_job_template(json::Writer& w, const CronSpec& cron);

std::string_view overlap_name(CronOverlap overlap);

// The entry as one object, in both spellings.
void render_cron(json::Writer& w, const Cron& cron);
// Its members but `cron`, for replies that have an object under that name.
void render_cron_members(json::Writer& w, const Cron& cron);

}  // namespace pawl::api
