#include "io/posix_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/try.h"
#include "io/posix_error.h"

namespace varve {
namespace {

// Linux transfers at most 2 GiB a call; smaller pieces change nothing else.
constexpr std::size_t kTransferSizeMax = std::size_t{1} << 30;
constexpr std::size_t kZerosSize = std::size_t{256} << 10;

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::write:
      return O_RDWR;
    case OpenMode::create:
      return O_RDWR | O_CREAT;
    case OpenMode::create_new:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::replace:
      return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

template <class Call>
auto retry_on_eintr(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

int open_retrying(const std::string& path, int flags) {
  return retry_on_eintr([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
}

class PosixFile final : public File {
 public:
  PosixFile(std::string_view path, int descriptor) : File(path), descriptor_(descriptor) {}
  ~PosixFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  Result<std::size_t> do_read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const std::size_t size = std::min(out.size() - done, kTransferSizeMax);
      const ssize_t got = retry_on_eintr([&] {
        return ::pread(descriptor_, out.data() + done, size, static_cast<off_t>(offset + done));
      });
      if (got < 0) {
        return posix_error(errno, path(),
                           fmt::format("read of {} bytes at offset {}", size, offset + done));
      }
      if (got == 0) break;  // The end of the file.
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Status do_write(std::uint64_t offset, ByteView data) override {
    while (!data.empty()) {
      const std::size_t size = std::min(data.size(), kTransferSizeMax);
      const ssize_t put = retry_on_eintr(
          [&] { return ::pwrite(descriptor_, data.data(), size, static_cast<off_t>(offset)); });
      // No progress and no error would loop for ever; the cause is a full device.
      const int failure = put == 0 ? ENOSPC : errno;
      if (put <= 0) {
        return posix_error(failure, path(),
                           fmt::format("write of {} bytes at offset {}", size, offset));
      }
      data = data.subspan(static_cast<std::size_t>(put));
      offset += static_cast<std::uint64_t>(put);
    }
    return {};
  }

  Status do_truncate(std::uint64_t size) override {
    if (retry_on_eintr([&] { return ::ftruncate(descriptor_, static_cast<off_t>(size)); }) != 0) {
      return posix_error(errno, path(), fmt::format("truncate to {} bytes", size));
    }
    return {};
  }

  Status do_extend_written(std::uint64_t from, std::uint64_t to) override {
    // Reserving first keeps the blocks together and finds a full disk before
    // anything is written. A file system that cannot reserve still gets zeros.
    const auto start = static_cast<off_t>(from);
    const auto length = static_cast<off_t>(to - from);
    const int reserved = retry_on_eintr(
        [&] { return ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, start, length); });
    if (reserved != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) {
      return posix_error(errno, path(), fmt::format("reserving {} bytes", to - from));
    }
    static const std::byte zeros[kZerosSize] = {};
    while (from < to) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, kZerosSize));
      VARVE_TRY(do_write(from, {zeros, size}));
      from += size;
    }
    return {};
  }

  Status do_sync(bool data_only) override {
    // Never repeated, not even after EINTR: a sync that failed once says nothing
    // true the second time (see File).
    const int result = data_only ? ::fdatasync(descriptor_) : ::fsync(descriptor_);
    if (result != 0) return posix_error(errno, path(), "sync");
    return {};
  }

  Result<std::uint64_t> do_size() const override {
    struct stat info;
    if (::fstat(descriptor_, &info) != 0) return posix_error(errno, path(), "reading the size");
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<Bytes> do_map(std::uint64_t offset, std::size_t size) const override {
    // A mapping starts on a page; what lies before `offset` is mapped and hidden.
    const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t start = offset - offset % page_size;
    const auto length = static_cast<std::size_t>(offset - start) + size;
    void* memory =
        ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(start));
    if (memory == MAP_FAILED) {
      return posix_error(errno, path(), fmt::format("mapping {} bytes at offset {}", size, offset));
    }
    std::shared_ptr<const void> owner(
        memory, [length](const void* m) { ::munmap(const_cast<void*>(m), length); });
    const auto* first = static_cast<const std::byte*>(memory) + (offset - start);
    return Bytes::pinning(std::move(owner), {first, size});
  }

  Status do_close() override {
    // The descriptor is gone whatever close() says; a second call could close
    // somebody else's. EINTR included.
    if (::close(std::exchange(descriptor_, -1)) != 0) return posix_error(errno, path(), "close");
    return {};
  }

  int descriptor_;
};

}  // namespace

Result<std::unique_ptr<File>> open_posix_file(std::string_view path, OpenMode mode) {
  const std::string terminated(path);
  const int descriptor = open_retrying(terminated, flags_of(mode));
  if (descriptor < 0) return posix_error(errno, path, "open");
  auto file = std::make_unique<PosixFile>(path, descriptor);
  struct stat info;
  if (::fstat(descriptor, &info) != 0) return posix_error(errno, path, "open");
  // A directory opens for reading, a pipe or a device would block or never end.
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument(fmt::format("{}: not an ordinary file", path));
  }
  return file;
}

Status sync_posix_dir(std::string_view path) {
  const std::string terminated(path);
  const int descriptor = open_retrying(terminated, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return posix_error(errno, path, "open");
  const int result = ::fsync(descriptor);
  const int failure = errno;
  ::close(descriptor);
  if (result != 0) return posix_error(failure, path, "sync of the directory");
  return {};
}

}  // namespace varve
