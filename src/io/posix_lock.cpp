#include "io/posix_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>

#include "base/try.h"
#include "io/posix_descriptor.h"
#include "io/posix_error.h"

namespace varve {
namespace {

// Long enough for any holder line we write; what others put there is cut.
constexpr std::size_t kHolderSizeMax = 256;
constexpr int kAttemptCountMax = 8;

// Bytes of a file that are locked; they need not be there. Size 0: all that follow.
struct LockRange {
  std::uint64_t first;
  std::uint64_t size;
};

// Slot i is byte i. The writer has all bytes behind the last slot, so that the two do
// not meet even in one file, while who locks the whole of it still keeps a writer out.
constexpr LockRange kWriterRange{std::uint64_t{1} << 32, 0};
constexpr LockRange slot_range(std::uint32_t index) { return {index, 1}; }

struct flock lock_request(LockRange range, short type) {
  struct flock request{};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = static_cast<off_t>(range.first);
  request.l_len = static_cast<off_t>(range.size);
  return request;
}

bool set_lock(int descriptor, LockRange range, short type) {
  struct flock request = lock_request(range, type);
  return retry_on_eintr([&] { return ::fcntl(descriptor, F_OFD_SETLK, &request); }) == 0;
}

// An open-file-description lock: the kernel drops it when the process dies, two
// opens in one process exclude each other too, and closing an unrelated
// descriptor of the same file does not release it as a classic record lock would.
class HeldRange {
 public:
  HeldRange(PosixDescriptor descriptor, LockRange range)
      : descriptor_(std::move(descriptor)), range_(range) {}
  ~HeldRange() {
    // Closing alone would leave it held by a child forked meanwhile.
    if (is_ours()) set_lock(descriptor_.number(), range_, F_UNLCK);
  }

  // A forked child that ends by running destructors must not release its parent's.
  bool is_ours() const { return ::getpid() == holder_; }
  int descriptor() const { return descriptor_.number(); }

 private:
  PosixDescriptor descriptor_;
  LockRange range_;
  pid_t holder_ = ::getpid();
};

class PosixWriterLock final : public WriterLock {
 public:
  explicit PosixWriterLock(PosixDescriptor descriptor)
      : held_(std::move(descriptor), kWriterRange) {}
  ~PosixWriterLock() override {
    if (!held_.is_ours()) return;
    // An empty file says that nobody holds it. The file stays: removing it would
    // let two processes lock two files of the same name.
    [[maybe_unused]] const int stale_text = ::ftruncate(held_.descriptor(), 0);
  }

 private:
  HeldRange held_;
};

class PosixNoWriterLock final : public NoWriterLock {
 public:
  explicit PosixNoWriterLock(PosixDescriptor descriptor)
      : held_(std::move(descriptor), kWriterRange) {}

 private:
  HeldRange held_;
};

class PosixSlotLock final : public SlotLock {
 public:
  PosixSlotLock(PosixDescriptor descriptor, std::uint32_t index)
      : held_(std::move(descriptor), slot_range(index)) {}

 private:
  HeldRange held_;
};

std::string describe_this_process() {
  char host[128] = "";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::tm utc{};
  const std::time_t now = std::time(nullptr);
  ::gmtime_r(&now, &utc);
  char since[32];
  std::strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return fmt::format("process {} ({}) on {} since {}\n", ::getpid(), program_invocation_short_name,
                     host, since);
}

// The holder's line, made safe to print: anybody can write to that file.
std::string read_holder(int descriptor) {
  char text[kHolderSizeMax];
  const ssize_t size = ::pread(descriptor, text, sizeof text, 0);
  std::string holder;
  for (ssize_t i = 0; i < size && text[i] != '\n'; ++i) {
    holder += text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
  }
  return holder.empty() ? "another process" : holder;
}

// Whether `path` still names the file that was locked. Somebody may have removed or
// replaced it between the open and the lock; then the lock guards nothing.
bool still_names(const std::string& path, int descriptor) {
  struct stat locked;
  struct stat named;
  return ::fstat(descriptor, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

// `describe_holder` says of an open file who holds the range, for the message.
template <class DescribeHolder>
Result<PosixDescriptor> open_locked(std::string_view path, int flags, LockRange range,
                                    DescribeHolder describe_holder, short type = F_WRLCK) {
  const std::string terminated(path);
  for (int attempt = 0; attempt < kAttemptCountMax; ++attempt) {
    VARVE_ASSIGN(PosixDescriptor descriptor, open_posix_descriptor(path, flags));
    if (!set_lock(descriptor.number(), range, type)) {
      if (errno != EAGAIN && errno != EACCES) return posix_error(errno, path, "lock");
      return busy(fmt::format("{}: {}", path, describe_holder(descriptor.number())));
    }
    if (still_names(terminated, descriptor.number())) return descriptor;
  }
  return busy(fmt::format("{}: the lock file is being replaced again and again", path));
}

std::string describe_writer(int descriptor) {
  struct flock request = lock_request(kWriterRange, F_WRLCK);
  const bool is_asked =
      retry_on_eintr([&] { return ::fcntl(descriptor, F_OFD_GETLK, &request); }) == 0;
  if (is_asked && request.l_type == F_RDLCK) {
    return "held by somebody who reads it and may not write beside it; it can be written when that "
           "one is through";
  }
  return fmt::format("held for writing by {}; close it there, or open read-only",
                     read_holder(descriptor));
}

}  // namespace

Result<std::unique_ptr<WriterLock>> lock_posix_writer(std::string_view path) {
  VARVE_ASSIGN(PosixDescriptor descriptor,
               open_locked(path, O_RDWR | O_CREAT, kWriterRange, describe_writer));
  const std::string holder = describe_this_process();
  // The text only serves the message of the next one who tries; a full disk must
  // not keep anybody from opening a world. A line of somebody who was killed is written over
  // and what is longer in it cut off: emptying the file first takes longer than all the rest.
  const ssize_t written = ::pwrite(descriptor.number(), holder.data(), holder.size(), 0);
  struct stat info;
  if (written >= 0 && ::fstat(descriptor.number(), &info) == 0 && info.st_size > written) {
    [[maybe_unused]] const int cut = ::ftruncate(descriptor.number(), written);
  }
  return std::make_unique<PosixWriterLock>(std::move(descriptor));
}

Result<std::unique_ptr<NoWriterLock>> lock_posix_writers_out(std::string_view path) {
  VARVE_ASSIGN(PosixDescriptor descriptor,
               open_locked(path, O_RDONLY, kWriterRange, describe_writer, F_RDLCK));
  return std::make_unique<PosixNoWriterLock>(std::move(descriptor));
}

Result<std::unique_ptr<SlotLock>> lock_posix_slot(std::string_view path, std::uint32_t index) {
  const auto describe_holder = [&](int) { return fmt::format("slot {} is held", index); };
  // Opened for writing although nothing is written: the kernel grants an exclusive
  // lock to nobody else.
  auto descriptor = open_locked(path, O_RDWR, slot_range(index), describe_holder);
  if (!descriptor) return descriptor.error().with_context(fmt::format("taking slot {}", index));
  return std::make_unique<PosixSlotLock>(*std::move(descriptor), index);
}

Result<bool> is_posix_slot_locked(std::string_view path, std::uint32_t index) {
  VARVE_ASSIGN(const PosixDescriptor descriptor, open_posix_descriptor(path, O_RDONLY));
  struct flock request = lock_request(slot_range(index), F_WRLCK);
  // The answer overwrites the question: the lock that is in the way, or none.
  if (retry_on_eintr([&] { return ::fcntl(descriptor.number(), F_OFD_GETLK, &request); }) != 0) {
    return posix_error(errno, path, fmt::format("asking for slot {}", index));
  }
  return request.l_type != F_UNLCK;
}

}  // namespace varve
