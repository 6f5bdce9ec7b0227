#include "io/posix_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "io/posix_error.h"

namespace varve {

PosixDescriptor::~PosixDescriptor() {
  if (number_ >= 0) ::close(number_);
}

Result<PosixDescriptor> open_posix_descriptor(std::string_view path, int flags) {
  const std::string terminated(path);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (writes ? O_NOFOLLOW : 0);
  PosixDescriptor descriptor(
      retry_on_eintr([&] { return ::open(terminated.c_str(), flags, 0666); }));
  if (descriptor.number() < 0) {
    const int failure = errno;
    if (failure == ELOOP && writes) {
      return invalid_argument(fmt::format(
          "{}: a symbolic link is not written through; name the file it points to", path));
    }
    // What opening a pipe or a device for writing says.
    if (failure == ENXIO) return invalid_argument(fmt::format("{}: not an ordinary file", path));
    return posix_error(failure, path, writes ? "open for writing" : "open");
  }
  struct stat info;
  if (::fstat(descriptor.number(), &info) != 0) return posix_error(errno, path, "open");
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument(fmt::format("{}: not an ordinary file", path));
  }
  return descriptor;
}

}  // namespace varve
