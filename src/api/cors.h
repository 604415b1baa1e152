// CorsPolicy: which pages of other origins may call this server from a browser. None unless the
// operator names them. No answer allows credentials: a key is sent as a header, not as a cookie.
//
// Thread: any, once it is made.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/request.h"
#include "http/responder.h"

namespace pawl::api {

class CorsPolicy {
 public:
  explicit CorsPolicy(const std::vector<std::string>& origins);

  struct Origin {
    bool known = false;                  // its pages may call
    const std::string* lines = nullptr;  // header lines of every answer to it, if any
  };
  Origin judge(const http::Request& request) const;

  // Browsers send a preflight before a request that a form could not make. Answered without a key:
  // browsers send none with it.
  static bool is_preflight(const http::Request& request);
  static http::Response preflight_answer(const http::Request& request);

 private:
  std::map<std::string, std::string, std::less<>> lines_;  // by origin
  std::string lines_of_others_;                            // caches must distinguish origins
};

}  // namespace pawl::api
