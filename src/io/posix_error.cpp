#include "io/posix_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace varve {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::not_found;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::out_of_space;
    case EEXIST:
    case ENOTEMPTY:
    case EISDIR:
    case ENAMETOOLONG:
      return ErrorCode::invalid_argument;
    case EBUSY:
    case ETXTBSY:
      return ErrorCode::busy;
    case EOPNOTSUPP:
    case ENOSYS:
    case EXDEV:
    case EMLINK:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::io;
  }
}

}  // namespace

Error posix_error(int error_number, std::string_view path, std::string_view what) {
  const char* name = strerrorname_np(error_number);
  const char* text = strerrordesc_np(error_number);
  return {
      code_of(error_number),
      fmt::format("{}: {} failed: {} ({})", path, what, text == nullptr ? "unknown error" : text,
                  name == nullptr ? std::to_string(error_number) : name)};
}

}  // namespace varve
