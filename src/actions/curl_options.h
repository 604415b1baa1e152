// CurlOptions: sets the options of one transfer, and records whether libcurl accepted them.
#pragma once

#include <curl/curl.h>

#include <string>

#include "base/result.h"

namespace pawl::actions {

// If libcurl refuses an option (text past its own bounds, no memory), this request fails; the first
// refusal counts.
class CurlOptions {
 public:
  explicit CurlOptions(CURL* easy) : easy_(easy) {}

  void set(CURLoption option, auto argument) {
    if (code_ == CURLE_OK) code_ = curl_easy_setopt(easy_, option, argument);
  }
  void refuse(CURLcode code) {
    if (code_ == CURLE_OK) code_ = code;
  }
  Status status() const {
    if (code_ == CURLE_OK) return ok_status();
    if (code_ == CURLE_OUT_OF_MEMORY)
      return Error{ErrorCode::Unavailable, "there was no memory for the request"};
    return Error{ErrorCode::InvalidRequest,
                 std::string("the request cannot be sent: ") + curl_easy_strerror(code_)};
  }

 private:
  CURL* easy_;
  CURLcode code_ = CURLE_OK;
};

}  // namespace pawl::actions
