#include "requests.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "base/check.h"

namespace pawl::bench {
namespace {

constexpr std::string_view kWorker = "bench-worker";
constexpr std::string_view kAckPath = "/ojs/v1/workers/ack";

std::string head(std::string_view path, size_t body_bytes) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/openjobspec+json\r\n"
      "Content-Length: {}\r\n\r\n",
      path, body_bytes);
}

std::string post(std::string_view path, std::string_view body) {
  return head(path, body.size()).append(body);
}

std::string post_json(std::string_view path, std::string_view body) {
  return fmt::format(
             "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
             "Content-Length: {}\r\n\r\n",
             path, body.size())
      .append(body);
}

std::string job(std::string_view type, std::string_view queue, std::string_view args) {
  return fmt::format(R"({{"type":"{}","args":[{}],"options":{{"queue":"{}"}}}})", type, args,
                     queue);
}

std::string small_job() {
  return job("bench.noop", kQueue, R"({"user":4711,"mail":"someone@example.com"})");
}

std::string repeated(const std::string& element, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list.append(i == 0 ? "" : ",").append(element);
  return list;
}

std::string fetch_fields(int count, int wait_ms) {
  return fmt::format(R"("queues":["{}","{}"],"count":{},"wait_ms":{})", kQueue, kCallbackQueue,
                     count, wait_ms);
}

const std::string& id_hole() {
  static const std::string hole(kJobIdBytes, '#');
  return hole;
}

}  // namespace

std::string get_request(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
}

std::string push_request() { return post("/ojs/v1/jobs", small_job()); }

std::string push_batch_request(int jobs) {
  return post("/ojs/v1/jobs/batch", fmt::format(R"({{"jobs":[{}]}})", repeated(small_job(), jobs)));
}

std::string chain_request(int steps) {
  return post("/ojs/v1/workflows", fmt::format(R"({{"type":"chain","name":"bench","steps":[{}]}})",
                                               repeated(small_job(), steps)));
}

std::string chains_request(int chains, int steps) {
  const std::string chain =
      fmt::format(R"({{"type":"chain","steps":[{}]}})", repeated(small_job(), steps));
  return post("/ojs/v1/workflows", fmt::format(R"({{"type":"group","name":"bench","jobs":[{}]}})",
                                               repeated(chain, chains)));
}

std::string batch_workflow_request(int jobs) {
  return post(
      "/ojs/v1/workflows",
      fmt::format(
          R"({{"type":"batch","name":"bench","jobs":[{}],"callbacks":{{"on_complete":{}}}}})",
          repeated(small_job(), jobs), job(kCallbackType, kCallbackQueue, "")));
}

std::string fetch_request(int count, int wait_ms) {
  return post("/ojs/v1/workers/fetch",
              fmt::format(R"({{{},"worker_id":"{}"}})", fetch_fields(count, wait_ms), kWorker));
}

Template::Template(std::string_view path, std::string_view body, std::string_view hole)
    : text_(post(path, body)), at_(text_.find(hole)), width_(hole.size()) {
  PAWL_CHECK(at_ != std::string::npos);
}

std::string_view Template::with(std::string_view value) {
  PAWL_CHECK(value.size() == width_);
  memcpy(text_.data() + at_, value.data(), width_);
  return text_;
}

Template ack_template() {
  return Template(kAckPath,
                  fmt::format(R"({{"job_id":"{}","result":{{"ok":true}},"worker_id":"{}"}})",
                              id_hole(), kWorker),
                  id_hole());
}

Template ack_and_fetch_template(int count, int wait_ms) {
  return Template(
      kAckPath,
      fmt::format(R"({{"job_id":"{}","result":{{"ok":true}},"worker_id":"{}","fetch":{{{}}}}})",
                  id_hole(), kWorker, fetch_fields(count, wait_ms)),
      id_hole());
}

Template numbered_push_template() {
  const std::string hole(kSequenceDigits, '#');
  return Template("/ojs/v1/jobs", job("bench.noop", kQueue, '"' + hole + '"'), hole);
}

std::string_view bulk_ack(const std::vector<std::string>& ids, std::string& buffer) {
  constexpr std::string_view kOpen = "{\"acks\":[";
  constexpr std::string_view kBefore = "{\"job_id\":\"";
  constexpr std::string_view kAfter = "\",\"result\":{\"ok\":true}}";
  const std::string close = fmt::format(R"(],"worker_id":"{}"}})", kWorker);
  size_t body_bytes = kOpen.size() + close.size() + (ids.empty() ? 0 : ids.size() - 1);
  for (const std::string& id : ids) body_bytes += kBefore.size() + id.size() + kAfter.size();

  buffer.assign(head(kAckPath, body_bytes)).append(kOpen);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i != 0) buffer.push_back(',');
    buffer.append(kBefore).append(ids[i]).append(kAfter);
  }
  buffer.append(close);
  return buffer;
}

// --- runs of definitions

std::string definition_request(int steps, bool parallel) {
  std::string list;
  for (int i = 0; i < steps; ++i) {
    list += fmt::format(R"({}{{"id":"s{}","action":"crypto.uuid")", i == 0 ? "" : ",", i);
    if (i > 0 && !parallel) list += fmt::format(R"(,"depends_on":["s{}"])", i - 1);
    list += '}';
  }
  return post_json("/v1/definitions",
                   fmt::format(R"({{"name":"bench","definition":{{"steps":[{}]}}}})", list));
}

std::string waiting_definition_request() {
  return post_json("/v1/definitions", R"({"name":"bench","definition":{"steps":[
      {"id":"pause","type":"wait","config":{"duration":"1h"}},
      {"id":"ask","type":"reasoning","config":{"prompt_context":"go on?","options":[{"id":"yes"},{"id":"no"}]}}]}})");
}

std::string run_request(std::string_view wait) {
  return post_json("/v1/runs", fmt::format(R"({{"definition":"bench","wait":"{}"}})", wait));
}

std::string loop_run_request(int iterations) {
  return post_json("/v1/runs", fmt::format(R"({{"wait":"60s","definition":{{"steps":[
      {{"id":"l","type":"loop","config":{{"mode":"while","condition":"iter.index < {}","max_iter":{},
        "body":[{{"id":"b","action":"crypto.uuid"}}]}}}}]}}}})",
                                           iterations, iterations));
}

}  // namespace pawl::bench
