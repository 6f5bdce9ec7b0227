#include "backend/lmdb/disk_faults.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace varve::test {
namespace {

struct Plan {
  bool is_on = false;
  std::optional<std::uint64_t> index;
  Fault fault = Fault::io_error;
  bool for_ever = false;
  int sync_error = 0;
  int sync_fail_count = 0;
  std::optional<std::uint64_t> space;
  std::uint64_t call_count = 0;
  std::uint64_t sync_count = 0;
  bool was_hit = false;
};
Plan plan;

bool hits() {
  if (!plan.is_on) return false;
  const std::uint64_t call = plan.call_count++;
  const bool is_hit = plan.index && (call == *plan.index || (plan.for_ever && call > *plan.index));
  plan.was_hit = plan.was_hit || is_hit;
  return is_hit;
}

int fail() {
  errno = plan.fault == Fault::no_space ? ENOSPC : EIO;
  return -1;
}

// How much of a write that would make the file end at `end` is done; 0 if no space is left for any.
std::size_t granted(int fd, off_t offset, std::size_t size) {
  if (!plan.is_on || !plan.space) return size;
  struct stat now = {};
  fstat(fd, &now);
  const off_t end = offset + static_cast<off_t>(size);
  if (end <= now.st_size) return size;
  const std::uint64_t inside =
      offset < now.st_size ? static_cast<std::uint64_t>(now.st_size - offset) : 0;
  const std::uint64_t added = std::min<std::uint64_t>(size - inside, *plan.space);
  *plan.space -= added;
  return inside + added;
}

int sync_call(long number, int fd) {
  if (plan.is_on) ++plan.sync_count;
  if (hits()) return fail();
  if (plan.is_on && plan.sync_fail_count > 0) {
    --plan.sync_fail_count;
    errno = plan.sync_error;
    return -1;
  }
  return static_cast<int>(syscall(number, fd));
}

}  // namespace

DiskFaults::DiskFaults() {
  plan = Plan{};
  plan.is_on = true;
}
DiskFaults::~DiskFaults() { plan = Plan{}; }
void DiskFaults::fail(std::uint64_t index, Fault fault, bool for_ever) {
  plan.index = plan.call_count + index;
  plan.fault = fault;
  plan.for_ever = for_ever;
}
void DiskFaults::fail_syncs(int error_number, int times) {
  plan.sync_error = error_number;
  plan.sync_fail_count = times;
}
void DiskFaults::limit_space(std::uint64_t size) { plan.space = size; }
void DiskFaults::mend() {
  plan.index.reset();
  plan.sync_fail_count = 0;
  plan.space.reset();
}
std::uint64_t DiskFaults::call_count() const { return plan.call_count; }
std::uint64_t DiskFaults::sync_count() const { return plan.sync_count; }
bool DiskFaults::was_hit() const { return plan.was_hit; }

}  // namespace varve::test

using varve::test::fail;
using varve::test::Fault;
using varve::test::granted;
using varve::test::hits;
using varve::test::plan;

extern "C" {

ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  if (hits()) {
    if (plan.fault != Fault::cut || size < 2) return fail();
    size /= 2;
  }
  const size_t some = granted(fd, offset, size);
  if (some == 0 && size > 0) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, from, some, offset);
}

// Written one after the other where it is to be cut.
ssize_t writev(int fd, const struct iovec* parts, int count) {
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  size_t some = size;
  if (hits()) {
    if (plan.fault != Fault::cut) return fail();
    some /= 2;
  }
  some = granted(fd, lseek(fd, 0, SEEK_CUR), some);
  if (some == size) return syscall(SYS_writev, fd, parts, count);
  if (some == 0) {
    errno = ENOSPC;
    return -1;
  }
  size_t done = 0;
  for (int i = 0; i < count && done < some; ++i) {
    const size_t part = std::min(parts[i].iov_len, some - done);
    done += static_cast<size_t>(syscall(SYS_write, fd, parts[i].iov_base, part));
  }
  return static_cast<ssize_t>(done);
}

int fdatasync(int fd) { return varve::test::sync_call(SYS_fdatasync, fd); }
int fsync(int fd) { return varve::test::sync_call(SYS_fsync, fd); }

int ftruncate(int fd, off_t size) noexcept {
  return hits() ? fail() : static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int statvfs(const char*, struct statvfs* out) noexcept {
  *out = {};
  out->f_bsize = out->f_frsize = 1;
  out->f_blocks = out->f_bfree = out->f_bavail = plan.space ? *plan.space : 1ull << 40;
  return 0;
}

}  // extern "C"
