#include "actions/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "actions/address_policy.h"
#include "actions/curl_options.h"
#include "actions/header_rule.h"
#include "actions/http_redirect.h"
#include "actions/http_url.h"
#include "base/quote.h"
#include "base/working_on.h"

namespace pawl::actions {
namespace {

constexpr size_t kHeaderBytesMax = 64 * 1024;  // of the answer, all together
constexpr size_t kMethodBytesMax = 64;
constexpr size_t kSentHeaderBytesMax = 256 * 1024;  // of the request, all together
constexpr size_t kHeadersMax = 1'000;               // of the answer
constexpr long kConnectMsMax = 10'000;
constexpr int64_t kTimeoutMsMax = int64_t{24} * 3600 * 1000;
constexpr int kPollMs = 1000;
constexpr int kHeldBackPollMs = 20;

// Marks that distinguish errors of the same code for callers.
constexpr std::string_view kTimedOut = "timed_out";
constexpr std::string_view kCancelled = "cancelled";
constexpr std::string_view kDenied = "secret_denied";

Error marked(std::string message, std::string_view mark) {
  return Error{ErrorCode::Unavailable,
               std::move(message),
               {Complaint{.path = "", .message = "", .code = std::string(mark)}}};
}

bool has_mark(const Error& error, std::string_view mark) {
  return !error.complaints.empty() && error.complaints[0].code == mark;
}

Status check_request(const HttpRequest& request) {
  PAWL_TRY_DO(check_url(request.url));
  if (request.method.size() > kMethodBytesMax)
    return Error{ErrorCode::InvalidRequest, "an HTTP method has at most " +
                                                std::to_string(kMethodBytesMax) + " letters, not " +
                                                std::to_string(request.method.size())};
  // CONNECT turns the connection into a tunnel, into which the next request would be sent.
  if (!is_token(request.method) || request.method == "CONNECT")
    return Error{ErrorCode::InvalidRequest,
                 in_quotes(request.method) + " is no HTTP method that can be sent"};
  size_t header_bytes = 0;
  for (const HeaderList* list : {&request.headers, &request.credentials})
    for (const auto& [name, value] : *list) {
      header_bytes += name.size() + value.size() + 4;
      if (header_bytes > kSentHeaderBytesMax)
        return Error{ErrorCode::InvalidRequest, "the headers are larger than " +
                                                    std::to_string(kSentHeaderBytesMax) + " bytes"};
      if (std::string problem = header_problem(name, value); !problem.empty())
        return Error{ErrorCode::InvalidRequest, std::move(problem)};
    }
  return ok_status();
}

using SteadyTime = std::chrono::steady_clock::time_point;

// One request over all its hops.
struct Transfer {
  uint64_t number = 0;
  HttpRequest request;
  HttpClient::Done done;
  HttpResponse response;
  SteadyTime deadline;
  int hops = 0;
  int port = 0;
  bool any_address = false;  // at this hop
  bool keep_private = false;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  size_t header_bytes = 0;
  const char* refusal = nullptr;  // why some address was not connected to
  bool body_full = false;
  bool head_full = false;
  char error[CURL_ERROR_SIZE] = {};

  ~Transfer() { forget_hop(); }

  void forget_hop() {
    curl_slist_free_all(headers);
    headers = nullptr;
    if (easy != nullptr) curl_easy_cleanup(easy);
    easy = nullptr;
    response = {};
    header_bytes = 0;
    refusal = nullptr;
    body_full = head_full = false;
    error[0] = '\0';
  }
};

// A mapped IPv4 address as IPv4, so that a rule cannot be evaded by another spelling.
std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      inet_ntop(AF_INET, v6.s6_addr + 12, text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &v6, text, sizeof text);
    }
  }
  return text;
}

// Names are checked before anything is sent: a denied host is not even resolved.
Status judge_hop(Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  PAWL_TRY(HttpUrl url, HttpUrl::parse(request.url));
  transfer.port = url.port();
  if (request.admit) PAWL_TRY_DO(request.admit(url.host(), url.port()));
  HostVerdict verdict = request.allow_private ? HostVerdict::Any : HostVerdict::PublicOnly;
  if (request.judge) verdict = request.judge(url.host(), url.port());
  if (verdict == HostVerdict::Denied)
    return Error{ErrorCode::Forbidden, "requests to " + url.authority() + " are not allowed"};
  transfer.any_address = verdict == HostVerdict::Any;
  return ok_status();
}

// Null if it may connect.
const char* why_not_connect(const Transfer& transfer, const sockaddr* address, socklen_t size) {
  HostVerdict verdict = HostVerdict::PublicOnly;
  if (transfer.request.judge)
    verdict = transfer.request.judge(address_text(address), transfer.port);
  if (verdict == HostVerdict::Denied) return "requests to the address are not allowed";
  if (transfer.any_address || verdict == HostVerdict::Any || is_public_address(address, size))
    return nullptr;
  return "the address is private, and requests to private addresses are not allowed";
}

size_t on_body(char* bytes, size_t, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  size_t room = transfer.request.max_bytes - transfer.response.body.size();
  transfer.response.body.append(bytes, std::min(room, count));
  if (count <= room) return count;
  transfer.body_full = true;
  return 0;
}

size_t on_header(char* bytes, size_t, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  transfer.header_bytes += count;
  transfer.head_full =
      transfer.header_bytes > kHeaderBytesMax || transfer.response.headers.size() >= kHeadersMax;
  if (transfer.head_full) return 0;
  std::string_view line(bytes, count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.substr(0, 5) == "HTTP/") {  // the first, or the one after a 100 Continue
    transfer.response.headers.clear();
    size_t code = line.find(' ');
    size_t reason = code == std::string_view::npos ? code : line.find(' ', code + 1);
    transfer.response.reason =
        reason == std::string_view::npos ? "" : std::string(line.substr(reason + 1));
    return count;
  }
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return count;
  std::string name(line.substr(0, colon));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  line.remove_prefix(colon + 1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  transfer.response.headers.emplace_back(std::move(name), std::string(line));
  return count;
}

curl_socket_t on_open_socket(void* user, curlsocktype, curl_sockaddr* address) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  if (const char* refusal = why_not_connect(transfer, &address->addr, address->addrlen)) {
    transfer.refusal = refusal;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// False when there was no memory: curl_slist_append() leaves the list as it was.
bool add_line(curl_slist*& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list, line.c_str());
  if (longer == nullptr) return false;
  list = longer;
  return true;
}

Status set_up(Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  transfer.easy = curl_easy_init();
  if (transfer.easy == nullptr)
    return Error{ErrorCode::Unavailable, "there was no memory for the request"};
  CurlOptions easy(transfer.easy);
  easy.set(CURLOPT_URL, request.url.c_str());
  easy.set(CURLOPT_PRIVATE, &transfer);
  easy.set(CURLOPT_ERRORBUFFER, transfer.error);
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_PROXY, "");
  easy.set(CURLOPT_FOLLOWLOCATION, 0L);
  long left_ms = static_cast<long>(std::max<int64_t>(
      1, std::chrono::ceil<std::chrono::milliseconds>(transfer.deadline -
                                                      std::chrono::steady_clock::now())
             .count()));
  easy.set(CURLOPT_TIMEOUT_MS, left_ms);
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, std::min(kConnectMsMax, left_ms));
  easy.set(CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  easy.set(CURLOPT_OPENSOCKETDATA, &transfer);
  easy.set(CURLOPT_WRITEFUNCTION, on_body);
  easy.set(CURLOPT_WRITEDATA, &transfer);
  easy.set(CURLOPT_HEADERFUNCTION, on_header);
  easy.set(CURLOPT_HEADERDATA, &transfer);
  // A kept connection is reused without checking its address: a private one must never serve a
  // request that may only reach public addresses.
  if (transfer.any_address && !transfer.keep_private) easy.set(CURLOPT_FORBID_REUSE, 1L);
  // Such logins belong to the connection: the next request on it would be logged in too.
  if (logs_the_connection_in(request)) {
    easy.set(CURLOPT_FRESH_CONNECT, 1L);
    easy.set(CURLOPT_FORBID_REUSE, 1L);
  }
  easy.set(CURLOPT_HTTP09_ALLOWED, 0L);
  if (!request.verify_tls) {
    easy.set(CURLOPT_SSL_VERIFYPEER, 0L);
    easy.set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (request.decompress) easy.set(CURLOPT_ACCEPT_ENCODING, "");
  if (request.method == "HEAD") {
    easy.set(CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET" || !request.body.empty()) {
    easy.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    easy.set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  easy.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  for (const HeaderList* list : {&request.headers, &request.credentials})
    for (const auto& [name, value] : *list) {
      // libcurl omits a header without a value.
      bool blank = value.find_first_not_of(" \t") == std::string::npos;
      std::string line = blank ? name + ";" : name + ": " + value;
      if (!add_line(transfer.headers, line)) easy.refuse(CURLE_OUT_OF_MEMORY);
    }
  if (!add_line(transfer.headers, "Expect:")) easy.refuse(CURLE_OUT_OF_MEMORY);
  easy.set(CURLOPT_HTTPHEADER, transfer.headers);
  return easy.status();
}

// A name may have several addresses: a refused one is the reason for a failure unless another one
// was connected.
bool was_refused(const Transfer& transfer) {
  if (transfer.refusal == nullptr) return false;
  curl_off_t connected_us = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_CONNECT_TIME_T, &connected_us);
  return connected_us == 0;
}

Result<HttpResponse> outcome(Transfer& transfer, CURLcode code) {
  bool cut = transfer.body_full && transfer.request.cut_body;
  if (code == CURLE_OK || cut) {
    long status = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    transfer.response.status = static_cast<int>(status);
    return std::move(transfer.response);
  }
  if (transfer.body_full)
    return Error{ErrorCode::TooLarge, "the answer is larger than " +
                                          std::to_string(transfer.request.max_bytes) + " bytes"};
  if (transfer.head_full)
    return Error{ErrorCode::TooLarge,
                 "the answer's headers are larger than 64 KiB, or more than 1000"};
  if (was_refused(transfer)) return Error{ErrorCode::Forbidden, transfer.refusal};
  if (code == CURLE_OPERATION_TIMEDOUT) return marked(transfer.error, kTimedOut);
  return Error{ErrorCode::Unavailable,
               transfer.error[0] != '\0' ? transfer.error : curl_easy_strerror(code)};
}

}  // namespace

class HttpClient::Worker {
 public:
  explicit Worker(const HttpClientConfig& config) : config_(config) {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    PAWL_CHECK(started == CURLE_OK);
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(config.connections_kept_max));
    thread_ = std::thread([this] { run(); });
  }
  ~Worker() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  void add(std::unique_ptr<Transfer> transfer) {
    transfer->keep_private = config_.keep_private;
    {
      std::lock_guard lock(mutex_);
      if (waiting_.size() < config_.waiting_max) {
        waiting_.push_back(std::move(transfer));
      }
    }
    if (transfer) {
      transfer->done(Error{ErrorCode::Overloaded, "too many outgoing requests are waiting"});
      return;
    }
    curl_multi_wakeup(multi_);
  }

  void cancel(uint64_t number) {
    {
      std::lock_guard lock(mutex_);
      cancelled_.insert(number);
    }
    curl_multi_wakeup(multi_);
  }

  uint64_t next_number() { return ++last_number_; }

 private:
  using Transfers = std::vector<std::unique_ptr<Transfer>>;

  void run() {
    WatchedThread watched;
    while (start_waiting()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      finish_done();
      curl_multi_poll(multi_, nullptr, 0, held_back_ ? kHeldBackPollMs : kPollMs, nullptr);
    }
    const Error stopping{ErrorCode::Unavailable, "the server is stopping"};
    for (auto& [easy, transfer] : under_way_) {
      curl_multi_remove_handle(multi_, easy);
      transfer->done(stopping);
    }
    under_way_.clear();
    for (auto& transfer : waiting_) transfer->done(stopping);
    waiting_.clear();
  }

  // False when it is time to stop.
  bool start_waiting() {
    Transfers starting, ending;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return false;
      take_cancelled(ending);
      held_back_ = !waiting_.empty() && config_.may_begin && !config_.may_begin();
      while (!held_back_ && !waiting_.empty() &&
             under_way_.size() + starting.size() < config_.in_flight_max) {
        starting.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
    }
    for (auto& transfer : ending) transfer->done(marked("the request was cancelled", kCancelled));
    for (auto& transfer : starting) begin_hop(std::move(transfer));
    return true;
  }

  // Under mutex_. Numbers of finished requests are dropped.
  void take_cancelled(Transfers& ending) {
    if (cancelled_.empty()) return;
    for (auto at = under_way_.begin(); at != under_way_.end();) {
      if (!cancelled_.contains(at->second->number)) {
        ++at;
        continue;
      }
      curl_multi_remove_handle(multi_, at->first);
      ending.push_back(std::move(at->second));
      at = under_way_.erase(at);
    }
    for (auto& transfer : waiting_)
      if (cancelled_.contains(transfer->number)) ending.push_back(std::move(transfer));
    std::erase(waiting_, nullptr);
    cancelled_.clear();
  }

  void begin_hop(std::unique_ptr<Transfer> transfer) {
    WorkingOn working(WorkKind::Start, transfer->request.run);
    if (transfer->hops == 0)
      transfer->deadline =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(std::clamp<int64_t>(
                                                 transfer->request.timeout_ms, 1, kTimeoutMsMax));
    if (Status allowed = judge_hop(*transfer); !allowed.ok()) {
      transfer->done(std::move(allowed).error());
      return;
    }
    if (Status ready = set_up(*transfer); !ready.ok()) {
      transfer->done(std::move(ready).error());
      return;
    }
    CURL* easy = transfer->easy;
    if (curl_multi_add_handle(multi_, easy) != CURLM_OK) {
      transfer->done(Error{ErrorCode::Unavailable, "the request could not be started"});
      return;
    }
    under_way_.emplace(easy, std::move(transfer));
  }

  void finish_done() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      CURLcode code = message->data.result;
      auto at = under_way_.find(easy);
      std::unique_ptr<Transfer> transfer = std::move(at->second);
      under_way_.erase(at);
      curl_multi_remove_handle(multi_, easy);
      finish_hop(std::move(transfer), code);
    }
  }

  void finish_hop(std::unique_ptr<Transfer> transfer, CURLcode code) {
    WorkingOn working(WorkKind::Action, transfer->request.run);
    Result<HttpResponse> result = outcome(*transfer, code);
    const HttpRequest& request = transfer->request;
    if (!result.ok() || !request.follow_redirects || !is_redirect(*result)) {
      transfer->done(std::move(result));
      return;
    }
    if (transfer->hops++ >= request.redirects_max) {
      transfer->done(
          Error{ErrorCode::Unsupported,
                "stopped after " + std::to_string(request.redirects_max) + " redirects"});
      return;
    }
    if (Status good = follow_redirect(transfer->request, *result); !good.ok()) {
      transfer->done(std::move(good).error());
      return;
    }
    transfer->forget_hop();
    begin_hop(std::move(transfer));
  }

  HttpClientConfig config_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::atomic<uint64_t> last_number_{0};
  std::deque<std::unique_ptr<Transfer>> waiting_;  // guarded by mutex_
  bool held_back_ = false;                         // own thread: may_begin() said no
  std::set<uint64_t> cancelled_;                   // guarded by mutex_
  bool stopping_ = false;                          // guarded by mutex_
  std::map<CURL*, std::unique_ptr<Transfer>> under_way_;
  std::thread thread_;
};

HttpClient::HttpClient(const HttpClientConfig& config)
    : worker_(std::make_unique<Worker>(config)) {}

HttpClient::~HttpClient() = default;

uint64_t HttpClient::send(HttpRequest request, Done done) {
  uint64_t number = worker_->next_number();
  if (Status good = check_request(request); !good.ok()) {
    done(good.error());
    return number;
  }
  auto transfer = std::make_unique<Transfer>();
  transfer->number = number;
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  worker_->add(std::move(transfer));
  return number;
}

void HttpClient::cancel(uint64_t number) { worker_->cancel(number); }

bool timed_out(const Error& error) { return has_mark(error, kTimedOut); }
bool was_cancelled(const Error& error) { return has_mark(error, kCancelled); }

Error secret_denied(std::string message) {
  return Error{ErrorCode::Forbidden, std::move(message), {Complaint{"", "", std::string(kDenied)}}};
}
bool is_secret_denied(const Error& error) { return has_mark(error, kDenied); }

}  // namespace pawl::actions
