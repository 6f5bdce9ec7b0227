#include "io/posix_faults.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace varve::test {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

struct Plan {
  int error_number = 0;
  int good_count = 0;
  int fail_count = 0;
  int count = 0;
};
thread_local Plan plans[static_cast<int>(Call::kCount)];
thread_local std::size_t transfer_size_max = kNoLimit;

Plan& plan(Call call) { return plans[static_cast<int>(call)]; }

bool fails(Call call) {
  Plan& p = plan(call);
  ++p.count;
  if (p.fail_count == 0) return false;
  if (p.good_count > 0) {
    --p.good_count;
    return false;
  }
  --p.fail_count;
  errno = p.error_number;
  return true;
}

}  // namespace

void PosixFaults::fail(Call call, int error_number, int times, int good) {
  plan(call).good_count = good;
  plan(call).error_number = error_number;
  plan(call).fail_count = times;
}
void PosixFaults::limit_transfers(std::size_t size_max) { transfer_size_max = size_max; }
int PosixFaults::count(Call call) const { return plan(call).count; }
void PosixFaults::reset() {
  for (Plan& p : plans) p = Plan{};
  transfer_size_max = kNoLimit;
}

}  // namespace varve::test

using varve::test::Call;
using varve::test::fails;
using varve::test::transfer_size_max;

extern "C" {

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  if (fails(Call::pread)) return -1;
  return syscall(SYS_pread64, fd, to, std::min(size, transfer_size_max), offset);
}
ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  if (fails(Call::pwrite)) return -1;
  return syscall(SYS_pwrite64, fd, from, std::min(size, transfer_size_max), offset);
}
int fdatasync(int fd) {
  return fails(Call::fdatasync) ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd));
}
int fsync(int fd) { return fails(Call::fsync) ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
int ftruncate(int fd, off_t size) noexcept {
  return fails(Call::ftruncate) ? -1 : static_cast<int>(syscall(SYS_ftruncate, fd, size));
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
  if (fails(Call::fallocate)) return -1;
  return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, size));
}
// As on Linux, the descriptor is gone even if close() fails.
int close(int fd) {
  const int result = static_cast<int>(syscall(SYS_close, fd));
  return fails(Call::close) ? -1 : result;
}

}  // extern "C"
