// Result<T>: a value, or an Error that some caller can act on. Bugs are not errors: see check.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace pawl {

enum class ErrorCode : unsigned char {
#define PAWL_ERROR(name, wire, http, retry) name,
#include "base/errors.def"
#undef PAWL_ERROR
};

std::string_view wire_code(ErrorCode code);
int http_status(ErrorCode code);
bool worth_retrying(ErrorCode code);

// One thing wrong with one place of a document, e.g. {"$.steps[2].args", "must be an array"}.
struct Complaint {
  std::string path;
  std::string message;
  std::string code = {};

  bool operator==(const Complaint&) const = default;
};

struct Error {
  ErrorCode code;
  std::string message;
  std::vector<Complaint> complaints = {};
  // More data for programs, by name: {"existing_job_id", …}, {"resource_id", …}.
  std::vector<std::pair<std::string_view, std::string>> details = {};

  Error&& with(std::string_view name, std::string value) && {
    details.emplace_back(name, std::move(value));
    return std::move(*this);
  }
};

struct [[nodiscard]] Unit {
  bool operator==(const Unit&) const = default;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : content_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(runtime/explicit)
  Result(Error error)
      : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(runtime/explicit)

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    PAWL_CHECK(ok());
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    PAWL_CHECK(ok());
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    PAWL_CHECK(ok());
    return std::move(*std::get_if<0>(&content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    PAWL_CHECK(!ok());
    return *std::get_if<1>(&content_);
  }
  Error&& error() && {
    PAWL_CHECK(!ok());
    return std::move(*std::get_if<1>(&content_));
  }

 private:
  std::variant<T, Error> content_;
};

using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

// PAWL_TRY(auto x, f()) binds the value or returns the error; PAWL_TRY_DO(f()) ignores the value.
#define PAWL_CONCAT_(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_(a, b)
#define PAWL_TRY_AS(temporary, declaration, expression)     \
  auto temporary = (expression);                            \
  if (!temporary.ok()) return std::move(temporary).error(); \
  declaration = std::move(temporary).value()
#define PAWL_TRY(declaration, expression) \
  PAWL_TRY_AS(PAWL_CONCAT(pawl_try_, __LINE__), declaration, expression)
#define PAWL_TRY_DO(expression) \
  if (auto pawl_status = (expression); !pawl_status.ok()) return std::move(pawl_status).error()

}  // namespace pawl
