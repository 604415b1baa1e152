#include "base/result.h"

namespace pawl {
namespace {

enum class Retry { Never, Later };

struct ErrorInfo {
  std::string_view wire;
  int http;
  Retry retry;
};

constexpr ErrorInfo kErrors[] = {
#define PAWL_ERROR(name, wire, http, retry) {wire, http, Retry::retry},
#include "base/errors.def"
#undef PAWL_ERROR
};

const ErrorInfo& info(ErrorCode code) { return kErrors[static_cast<unsigned>(code)]; }

}  // namespace

std::string_view wire_code(ErrorCode code) { return info(code).wire; }
std::string_view wire_code(const Error& error) {
  return error.wire.empty() ? wire_code(error.code) : error.wire;
}
int http_status(ErrorCode code) { return info(code).http; }
bool worth_retrying(ErrorCode code) { return info(code).retry == Retry::Later; }

Failure::Failure(Error error) : error_(new Error(std::move(error))) {}

Failure::Failure(const Failure& other)
    : error_(other.error_ == nullptr ? nullptr : new Error(*other.error_)) {}

void Failure::destroy() { delete error_; }

}  // namespace pawl
