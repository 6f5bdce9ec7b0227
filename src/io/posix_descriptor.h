// A file descriptor that closes itself, and the one way to get one.
#pragma once

#include <cerrno>
#include <string_view>
#include <utility>

#include "varve/result.h"

namespace varve {

// Repeats a call a signal interrupted. Never for a sync: see File.
template <class Call>
auto retry_on_eintr(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class PosixDescriptor {
 public:
  explicit PosixDescriptor(int number = -1) noexcept : number_(number) {}
  ~PosixDescriptor();
  PosixDescriptor(PosixDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  PosixDescriptor& operator=(PosixDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const noexcept { return number_; }
  // Gives the number up, for a close whose failure matters.
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Opens an ordinary file. A pipe or a device is refused without waiting for it. A
// file that is to be written may not itself be a symbolic link, which could point
// outside the save; the directories on the way may be, so a store makes sure of its
// own with Vfs::create_dir(), which refuses a link.
Result<PosixDescriptor> open_posix_descriptor(std::string_view path, int flags);

}  // namespace varve
