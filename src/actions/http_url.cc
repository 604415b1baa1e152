#include "actions/http_url.h"

#include <charconv>
#include <utility>

#include "actions/http_client.h"

namespace pawl::actions {
namespace {

constexpr size_t kUrlBytesMax = 8 * 1024;

Error refused(std::string_view why) {
  return Error{ErrorCode::InvalidRequest, "the URL " + std::string(why)};
}

Status check_text(const std::string& text) {
  if (text.size() > kUrlBytesMax) return refused("is longer than 8 KiB");
  for (char c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f')
      return refused("holds blanks or control characters");
  return ok_status();
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Result<HttpUrl> HttpUrl::parse(const std::string& text) {
  PAWL_TRY_DO(check_text(text));
  HttpUrl url(curl_url());
  if (url.handle_ == nullptr) return refused("could not be read: no memory");
  if (curl_url_set(url.handle_, CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return refused("is malformed");
  PAWL_TRY_DO(url.check());
  return url;
}

Result<HttpUrl> HttpUrl::follow(const std::string& location) const {
  PAWL_TRY_DO(check_text(location));
  HttpUrl url(curl_url_dup(handle_));
  if (url.handle_ == nullptr) return refused("could not be read: no memory");
  if (curl_url_set(url.handle_, CURLUPART_URL, location.c_str(), CURLU_NON_SUPPORT_SCHEME) !=
      CURLUE_OK)
    return refused("of a redirect is malformed");
  PAWL_TRY_DO(url.check());
  return url;
}

HttpUrl::HttpUrl(HttpUrl&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

HttpUrl& HttpUrl::operator=(HttpUrl&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

HttpUrl::~HttpUrl() {
  if (handle_ != nullptr) curl_url_cleanup(handle_);
}

std::string HttpUrl::get(CURLUPart part, unsigned flags) const {
  char* text = nullptr;
  bool got = curl_url_get(handle_, part, &text, flags) == CURLUE_OK;
  std::string copy = got ? text : "";  // libcurl may leave a part that it could not encode
  curl_free(text);
  return copy;
}

Status HttpUrl::check() const {
  std::string its_scheme = scheme();
  if (its_scheme != "http" && its_scheme != "https")
    return refused("must begin with http:// or https://");
  if (host().empty()) return refused("names no host");  // a host of dots only is none
  // Refuse hosts that libcurl parses but prints differently.
  for (char c : host())
    if (!is_host_character(c)) return refused("names a host that cannot be");
  if (!get(CURLUPART_USER).empty() || !get(CURLUPART_PASSWORD).empty())
    return refused("must not hold a user or password; use a header");
  return ok_status();
}

std::string HttpUrl::text() const { return get(CURLUPART_URL); }

std::string HttpUrl::scheme() const { return get(CURLUPART_SCHEME); }

std::string HttpUrl::host() const {
  std::string host = get(CURLUPART_HOST, CURLU_PUNYCODE);
  if (host.empty()) host = get(CURLUPART_HOST);
  if (host.size() >= 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  while (!host.empty() && host.back() == '.') host.pop_back();
  for (char& c : host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return host;
}

int HttpUrl::port() const {
  std::string text = get(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  int port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);  // libcurl gave digits or nothing
  return port;
}

std::string HttpUrl::authority() const {
  std::string name = host();
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return name + ":" + std::to_string(port());
}

bool HttpUrl::same_origin(const HttpUrl& other) const {
  return scheme() == other.scheme() && host() == other.host() && port() == other.port();
}

Status check_url(const std::string& url) {
  PAWL_TRY_DO(HttpUrl::parse(url));
  return ok_status();
}

}  // namespace pawl::actions
