#include "actions/fs_error.h"

#include <cerrno>
#include <system_error>

#include "actions/value_text.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

std::string_view code_of(int number) {
  switch (number) {
    case ENOENT:
      return "NOT_FOUND";
    case EACCES:
    case EPERM:
    case EROFS:
      return "PERMISSION_DENIED";
    case ELOOP:
    case EXDEV:
      return "PATH_DENIED";
    case EEXIST:
    case ENOTEMPTY:
      return "CONFLICT";
    case EISDIR:
    case ENOTDIR:
    case EINVAL:
    case ENAMETOOLONG:
      return "VALIDATION_ERROR";
    case EFBIG:
      return "NON_RETRYABLE";
    default:
      return "EXECUTION_ERROR";
  }
}

}  // namespace

Error fs_error(std::string_view code, std::string message) {
  return Error{ErrorCode::Unavailable,
               std::move(message),
               {Complaint{.path = "", .message = "", .code = std::string(code)}}};
}

Error fs_errno(int number, std::string_view path) {
  return fs_error(code_of(number),
                  in_quotes(repaired_utf8(path)) + ": " + std::generic_category().message(number));
}

Status keep_going(const StopSignal& stop) {
  if (stop.raised()) return fs_error("CANCELLED", "the action was cancelled");
  if (stop.expired()) return fs_error("TIMEOUT_ERROR", "the action took too long");
  return ok_status();
}

ActionOutcome fs_outcome(const Error& error) {
  std::string code = "EXECUTION_ERROR";
  if (!error.complaints.empty()) {
    code = error.complaints[0].code;
  } else if (error.code == ErrorCode::Forbidden) {
    code = "PATH_DENIED";
  } else if (error.code == ErrorCode::InvalidContent) {
    code = "VALIDATION_ERROR";
  }
  bool retryable = code == "EXECUTION_ERROR" || code == "TIMEOUT_ERROR";
  return ActionOutcome::failure(std::move(code), error.message, retryable);
}

}  // namespace pawl::actions
