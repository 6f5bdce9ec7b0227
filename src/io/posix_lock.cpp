#include "io/posix_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <string>

#include "io/posix_error.h"

namespace varve {
namespace {

// Long enough for any holder line we write; what others put there is cut.
constexpr std::size_t kHolderSizeMax = 256;

// An open-file-description lock: the kernel drops it when the process dies, two
// opens in one process exclude each other too, and closing an unrelated
// descriptor of the same file does not release it as a classic record lock would.
class PosixWriterLock final : public WriterLock {
 public:
  explicit PosixWriterLock(int descriptor) : descriptor_(descriptor) {}
  ~PosixWriterLock() override {
    // An empty file says that nobody holds it. The file stays: removing it would
    // let two processes lock two files of the same name.
    [[maybe_unused]] const int stale_text = ::ftruncate(descriptor_, 0);
    ::close(descriptor_);
  }

 private:
  int descriptor_;
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

}  // namespace

Result<std::unique_ptr<WriterLock>> lock_posix_writer(std::string_view path) {
  const std::string terminated(path);
  const int descriptor = ::open(terminated.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return posix_error(errno, path, "open of the lock file");
  struct flock whole_file{};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_OFD_SETLK, &whole_file) != 0) {
    const int failure = errno;
    const std::string holder = read_holder(descriptor);
    ::close(descriptor);
    if (failure == EAGAIN || failure == EACCES) {
      return busy(fmt::format("{}: held for writing by {}; close it there, or open read-only", path,
                              holder));
    }
    return posix_error(failure, path, "lock");
  }
  auto lock = std::make_unique<PosixWriterLock>(descriptor);
  const std::string holder = describe_this_process();
  // The text only serves the message of the next one who tries; a full disk must
  // not keep anybody from opening a world.
  if (::ftruncate(descriptor, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor, holder.data(), holder.size(), 0);
  }
  return lock;
}

}  // namespace varve
