// Result<T>: a value, or an Error that some caller can act on. Bugs are not errors: see check.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace pawl {

enum class ErrorCode : unsigned char {
#define PAWL_ERROR(name, wire, http, retry) name,
#include "base/errors.def"
#undef PAWL_ERROR
};

struct Error;
std::string_view wire_code(ErrorCode code);
std::string_view wire_code(const Error& error);  // the one that clients see
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
  // The code that clients see, if it says more than that of `code`: "gov.stale_base".
  std::string_view wire = {};
  // Members of the details whose values are JSON texts.
  std::vector<std::pair<std::string_view, std::string>> json_details = {};

  Error&& with(std::string_view name, std::string value) && {
    details.emplace_back(name, std::move(value));
    return std::move(*this);
  }
};

struct [[nodiscard]] Unit {
  bool operator==(const Unit&) const = default;
};

// An Error on the heap. A Result passes through every function on the way of a request and hardly
// ever holds an error: so its error is a pointer, and handing one on moves the pointer.
class Failure {
 public:
  explicit Failure(Error error);
  Failure(const Failure& other);
  Failure(Failure&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Failure& operator=(Failure other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Failure() {
    if (error_ != nullptr) destroy();
  }
  static Failure none() { return {}; }

  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  Failure() = default;
  void destroy();

  Error* error_ = nullptr;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : failure_(Failure::none()), value_(std::move(value)) {}  // NOLINT(runtime/explicit)
  Result(Error error) : failure_(std::move(error)) {}           // NOLINT(runtime/explicit)
  Result(Failure failure) : failure_(std::move(failure)) {}     // NOLINT(runtime/explicit)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    PAWL_CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    PAWL_CHECK(ok());
    return *value_;
  }
  // By value: what a temporary holds may be walked by a range-for.
  T value() && {
    PAWL_CHECK(ok());
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    PAWL_CHECK(!ok());
    return failure_.error();
  }
  Error&& error() && {
    PAWL_CHECK(!ok());
    return std::move(failure_.error());
  }
  // The error, for a Result of another type.
  Failure failure() && {
    PAWL_CHECK(!ok());
    return std::move(failure_);
  }

 private:
  Failure failure_;
  std::optional<T> value_;
};

using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

// PAWL_TRY(auto x, f()) binds the value or returns the error; PAWL_TRY_DO(f()) ignores the value.
#define PAWL_CONCAT_(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_(a, b)
#define PAWL_TRY_AS(temporary, declaration, expression)       \
  auto temporary = (expression);                              \
  if (!temporary.ok()) return std::move(temporary).failure(); \
  declaration = std::move(temporary).value()
#define PAWL_TRY(declaration, expression) \
  PAWL_TRY_AS(PAWL_CONCAT(pawl_try_, __LINE__), declaration, expression)
#define PAWL_TRY_DO(expression) \
  if (auto pawl_status = (expression); !pawl_status.ok()) return std::move(pawl_status).failure()

}  // namespace pawl
