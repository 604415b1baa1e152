// Kept answers: what a call with an Idempotency-Key was answered, for when it comes again.
#pragma once

#include <string>
#include <string_view>

#include "api/app.h"

namespace pawl::api {

class KeptAnswers {
 public:
  explicit KeptAnswers(const Call& call);

  // Of the document; "" if the call has no key, or only reads.
  const std::string& key() const { return key_; }
  // The document's value; sealed if the call has a secret.
  std::string encode(App& app, const Call& call, const http::Response& response) const;
  // InvalidContent if the key was used with another body, Conflict if the answer cannot be opened.
  Reply repeat(App& app, const Call& call, const std::string& value) const;

 private:
  std::string key_;
  std::string body_hash_;
};

}  // namespace pawl::api
