#include "varve/result.h"
#include "varve/version.h"

namespace varve {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::corruption:
      return "corruption";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::io:
      return "io";
    case ErrorCode::busy:
      return "busy";
    case ErrorCode::out_of_space:
      return "out_of_space";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string message) noexcept
    : message_(std::move(message)), code_(code) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

Error Error::with_context(std::string_view context) const {
  std::string message(context);
  message += ": ";
  message += message_;
  return {code_, std::move(message)};
}

Error not_found(std::string message) { return {ErrorCode::not_found, std::move(message)}; }
Error corruption(std::string message) { return {ErrorCode::corruption, std::move(message)}; }
Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }
Error invalid_argument(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}
Error io_error(std::string message) { return {ErrorCode::io, std::move(message)}; }
Error busy(std::string message) { return {ErrorCode::busy, std::move(message)}; }
Error out_of_space(std::string message) { return {ErrorCode::out_of_space, std::move(message)}; }
Error cancelled(std::string message) { return {ErrorCode::cancelled, std::move(message)}; }

#define VARVE_TEXT2(x) #x
#define VARVE_TEXT(x) VARVE_TEXT2(x)
const char* version() noexcept {
  return VARVE_TEXT(VARVE_VERSION_MAJOR) "." VARVE_TEXT(VARVE_VERSION_MINOR) "." VARVE_TEXT(
      VARVE_VERSION_PATCH);
}

}  // namespace varve
