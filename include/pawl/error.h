// The exceptions of the library; it throws no others.
#pragma once

#include <stdexcept>
#include <string>

namespace pawl {
inline namespace embedded {

// The call was refused, or failed. code() is for programs: invalid_request,
// validation_error, conflict, duplicate, not_found, unavailable, store_failed, …
class WorkflowError : public std::runtime_error {
 public:
  WorkflowError(const std::string& message, std::string code)
      : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

// There is no workflow, or no instance, of that name.
class WorkflowNotFoundError : public WorkflowError {
 public:
  explicit WorkflowNotFoundError(const std::string& message)
      : WorkflowError(message, "not_found") {}
};

}  // namespace embedded
}  // namespace pawl
