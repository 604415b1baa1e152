// A parsed HTTP address. It uses the same parser as the connection, so a rule checks the host that
// is reached.
//
// Thread: one at a time.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::actions {

class HttpUrl {
 public:
  // InvalidRequest for anything but an http or https address without a user or password.
  static Result<HttpUrl> parse(const std::string& text);
  HttpUrl(HttpUrl&& other) noexcept;
  HttpUrl& operator=(HttpUrl&& other) noexcept;
  ~HttpUrl();

  // Where a Location header leads from here, under the rules of parse().
  Result<HttpUrl> follow(const std::string& location) const;

  std::string text() const;
  std::string scheme() const;
  // In lower case, as DNS would see it, without brackets and without a trailing dot.
  std::string host() const;
  int port() const;               // the scheme's own unless one is named
  std::string authority() const;  // host:port, for people
  bool same_origin(const HttpUrl& other) const;

  CURLU* handle() const { return handle_; }

 private:
  explicit HttpUrl(CURLU* handle) : handle_(handle) {}
  std::string get(CURLUPart part, unsigned flags = 0) const;
  Status check() const;

  CURLU* handle_;
};

}  // namespace pawl::actions
