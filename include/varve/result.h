// How every call of Varve reports failure.
//
// Nothing throws across the API. A call that can fail returns Result<T>, or
// Status where there is nothing to return. Both are [[nodiscard]]: an ignored
// failure is a compiler warning.
//
//   varve::Result<varve::Bytes> r = ...;
//   if (!r) { show(r.error().message()); return; }
//   use(*r);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace varve {

// Few codes, each for a different reaction of the caller. What exactly happened
// is in the message.
enum class ErrorCode : std::uint8_t {
  not_found = 1,     // there is no such record, file or save
  corruption,        // stored bytes cannot be trusted; they were not returned
  unsupported,       // valid, but this build, format or store cannot do it
  invalid_argument,  // the caller asked for something that makes no sense
  io,                // the operating system refused or failed
  busy,              // somebody else holds it; trying later may succeed
  out_of_space,      // the disk or a quota is full; nothing committed was lost
  cancelled,         // stopped on request
};

// The name as it stands in messages and logs: "not_found", "corruption", ...
std::string_view to_string(ErrorCode code) noexcept;

// A failure: a code to branch on and one sentence for a person, which says
// what, where (path, offset) and what was expected and found.
//
// Making, moving and destroying one is out of line and marked as rare: whatever can fail has code
// for a failure it hardly ever meets, which is smaller so, and lies aside.
class [[nodiscard]] Error {
 public:
  [[gnu::cold]] Error(ErrorCode code, std::string message) noexcept;
  [[gnu::cold]] Error(const Error& other);
  [[gnu::cold]] Error(Error&& other) noexcept;
  [[gnu::cold]] Error& operator=(const Error& other);
  [[gnu::cold]] Error& operator=(Error&& other) noexcept;
  [[gnu::cold]] ~Error();

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

  // The same failure seen from further out: "context: message".
  [[gnu::cold]] Error with_context(std::string_view context) const;

 private:
  std::string message_;
  ErrorCode code_;
};

// One maker per code, so that `return corruption("...")` reads as a sentence in
// any function that returns a Result.
[[gnu::cold]] Error not_found(std::string message);
[[gnu::cold]] Error corruption(std::string message);
[[gnu::cold]] Error unsupported(std::string message);
[[gnu::cold]] Error invalid_argument(std::string message);
[[gnu::cold]] Error io_error(std::string message);
[[gnu::cold]] Error busy(std::string message);
[[gnu::cold]] Error out_of_space(std::string message);
[[gnu::cold]] Error cancelled(std::string message);

// Either a T or an Error. Reading the value of a failed Result is a bug in the
// caller and is undefined, as with std::expected; test it first.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  // An Error converts by itself: `return corruption("...")`.
  Result(Error error)
      : Base(tl::unexpect, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return this->has_value(); }
};

// Success, or an Error. `return {};` is success.
using Status = Result<void>;

}  // namespace varve
