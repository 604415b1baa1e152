#include "actions/http_client.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "actions/address_policy.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr size_t kUrlBytesMax = 8 * 1024;
constexpr size_t kHeaderBytesMax = 64 * 1024;  // of the answer, all together
constexpr long kConnectMsMax = 10'000;
constexpr int kPollMs = 1000;

bool is_token(const std::string& text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

struct UrlParts {
  explicit UrlParts(const std::string& url) : handle(curl_url()) {
    good = curl_url_set(handle, CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
  }
  UrlParts(const UrlParts&) = delete;
  UrlParts& operator=(const UrlParts&) = delete;
  ~UrlParts() { curl_url_cleanup(handle); }

  std::string get(CURLUPart part) const {
    char* text = nullptr;
    if (!good || curl_url_get(handle, part, &text, 0) != CURLUE_OK) return "";
    std::string copy = text;
    curl_free(text);
    return copy;
  }

  CURLU* handle;
  bool good = false;
};

Status check_request(const HttpRequest& request) {
  PAWL_TRY_DO(check_url(request.url));
  if (!is_token(request.method))
    return Error{ErrorCode::InvalidRequest, quoted(request.method) + " is no HTTP method"};
  for (const auto& [name, value] : request.headers)
    if (!is_sendable_header(name, value))
      return Error{ErrorCode::InvalidRequest, "header " + quoted(name) + " cannot be sent"};
  return ok_status();
}

// One request on its way.
struct Transfer {
  HttpRequest request;
  HttpClient::Done done;
  HttpResponse response;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  size_t header_bytes = 0;
  bool address_refused = false;
  bool body_full = false;
  char error[CURL_ERROR_SIZE] = {};

  ~Transfer() {
    curl_slist_free_all(headers);
    if (easy != nullptr) curl_easy_cleanup(easy);
  }
};

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
  if (transfer.header_bytes > kHeaderBytesMax) return 0;
  std::string_view line(bytes, count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.substr(0, 5) == "HTTP/") transfer.response.headers.clear();  // after a 100 Continue
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.substr(0, 5) == "HTTP/") return count;
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
  if (!transfer.request.allow_private && !is_public_address(&address->addr, address->addrlen)) {
    transfer.address_refused = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

template <class Argument>
void set(CURL* easy, CURLoption option, Argument argument) {
  CURLcode code = curl_easy_setopt(easy, option, argument);
  PAWL_CHECK(code == CURLE_OK);
}

void set_up(Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  CURL* easy = transfer.easy = curl_easy_init();
  PAWL_CHECK(easy != nullptr);
  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PRIVATE, &transfer);
  set(easy, CURLOPT_ERRORBUFFER, transfer.error);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<int64_t>(1, request.timeout_ms)));
  set(easy, CURLOPT_CONNECTTIMEOUT_MS,
      std::min(kConnectMsMax, static_cast<long>(request.timeout_ms)));
  set(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  set(easy, CURLOPT_OPENSOCKETDATA, &transfer);
  set(easy, CURLOPT_WRITEFUNCTION, on_body);
  set(easy, CURLOPT_WRITEDATA, &transfer);
  set(easy, CURLOPT_HEADERFUNCTION, on_header);
  set(easy, CURLOPT_HEADERDATA, &transfer);
  // A kept connection is used again without asking for its address: one that was allowed to be
  // private must never serve a request that is not.
  if (request.allow_private) set(easy, CURLOPT_FORBID_REUSE, 1L);
  if (request.method == "HEAD") {
    set(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET" || !request.body.empty()) {
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  for (const auto& [name, value] : request.headers) {
    std::string line = value.empty() ? name + ";" : name + ": " + value;
    transfer.headers = curl_slist_append(transfer.headers, line.c_str());
  }
  transfer.headers = curl_slist_append(transfer.headers, "Expect:");
  set(easy, CURLOPT_HTTPHEADER, transfer.headers);
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
  if (transfer.address_refused)
    return Error{ErrorCode::Forbidden,
                 "the address is private, and requests to private addresses are not allowed"};
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

 private:
  void run() {
    while (start_waiting()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      finish_done();
      curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
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
    std::vector<std::unique_ptr<Transfer>> starting;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return false;
      while (!waiting_.empty() && under_way_.size() + starting.size() < config_.in_flight_max) {
        starting.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
    }
    for (auto& transfer : starting) {
      set_up(*transfer);
      CURL* easy = transfer->easy;
      curl_multi_add_handle(multi_, easy);
      under_way_.emplace(easy, std::move(transfer));
    }
    return true;
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
      transfer->done(outcome(*transfer, code));
    }
  }

  HttpClientConfig config_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Transfer>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                          // guarded by mutex_
  std::map<CURL*, std::unique_ptr<Transfer>> under_way_;
  std::thread thread_;
};

HttpClient::HttpClient(const HttpClientConfig& config)
    : worker_(std::make_unique<Worker>(config)) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(HttpRequest request, Done done) {
  if (Status good = check_request(request); !good.ok()) return done(good.error());
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  worker_->add(std::move(transfer));
}

Status check_url(const std::string& url) {
  auto refuse = [&](const char* why) {
    return Error{ErrorCode::InvalidRequest, "the URL " + std::string(why)};
  };
  if (url.size() > kUrlBytesMax) return refuse("is longer than 8 KiB");
  for (char c : url)
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f')
      return refuse("holds blanks or control characters");
  UrlParts parts(url);
  if (!parts.good) return refuse("is malformed");
  std::string scheme = parts.get(CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return refuse("must begin with http:// or https://");
  if (parts.get(CURLUPART_HOST).empty()) return refuse("names no host");
  if (!parts.get(CURLUPART_USER).empty() || !parts.get(CURLUPART_PASSWORD).empty())
    return refuse("must not hold a user or password; use a header");
  return ok_status();
}

bool is_sendable_header(const std::string& name, const std::string& value) {
  return is_token(name) && std::all_of(value.begin(), value.end(), [](char c) {
           return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t';
         });
}

}  // namespace pawl::actions
