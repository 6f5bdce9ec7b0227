#include "io/posix_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <string>

#include "base/try.h"
#include "io/posix_descriptor.h"
#include "io/posix_error.h"

namespace varve {
namespace {

// Long enough for any holder line we write; what others put there is cut.
constexpr std::size_t kHolderSizeMax = 256;
constexpr int kAttemptCountMax = 8;

bool set_lock(int descriptor, short type) {
  struct flock whole_file{};
  whole_file.l_type = type;
  whole_file.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole_file) == 0;
}

// An open-file-description lock: the kernel drops it when the process dies, two
// opens in one process exclude each other too, and closing an unrelated
// descriptor of the same file does not release it as a classic record lock would.
class PosixWriterLock final : public WriterLock {
 public:
  explicit PosixWriterLock(PosixDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  ~PosixWriterLock() override {
    // A forked child that ends by running destructors must not release its parent's.
    if (::getpid() != holder_) return;
    // An empty file says that nobody holds it. The file stays: removing it would
    // let two processes lock two files of the same name.
    [[maybe_unused]] const int stale_text = ::ftruncate(descriptor_.number(), 0);
    // Closing alone would leave it held by a child forked meanwhile.
    set_lock(descriptor_.number(), F_UNLCK);
  }

 private:
  PosixDescriptor descriptor_;
  pid_t holder_ = ::getpid();
};

std::string describe_this_process() {
  std::string program;
  std::getline(std::ifstream("/proc/self/comm"), program);
  char host[128] = "";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::tm utc{};
  const std::time_t now = std::time(nullptr);
  ::gmtime_r(&now, &utc);
  char since[32];
  std::strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return fmt::format("process {} ({}) on {} since {}\n", ::getpid(), program, host, since);
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

}  // namespace

Result<std::unique_ptr<WriterLock>> lock_posix_writer(std::string_view path) {
  const std::string terminated(path);
  for (int attempt = 0; attempt < kAttemptCountMax; ++attempt) {
    VARVE_ASSIGN(PosixDescriptor descriptor, open_posix_descriptor(path, O_RDWR | O_CREAT));
    if (!set_lock(descriptor.number(), F_WRLCK)) {
      if (errno != EAGAIN && errno != EACCES) return posix_error(errno, path, "lock");
      return busy(fmt::format("{}: held for writing by {}; close it there, or open read-only", path,
                              read_holder(descriptor.number())));
    }
    if (!still_names(terminated, descriptor.number())) continue;
    const std::string holder = describe_this_process();
    // The text only serves the message of the next one who tries; a full disk must
    // not keep anybody from opening a world.
    if (::ftruncate(descriptor.number(), 0) == 0) {
      [[maybe_unused]] const ssize_t written =
          ::pwrite(descriptor.number(), holder.data(), holder.size(), 0);
    }
    return std::make_unique<PosixWriterLock>(std::move(descriptor));
  }
  return busy(fmt::format("{}: the lock file is being replaced again and again", path));
}

}  // namespace varve
