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
#include "io/posix_descriptor.h"
#include "io/posix_error.h"
#include "io/thread_rank.h"
#include "io/write_pace.h"

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

class PosixFile final : public File {
 public:
  PosixFile(std::string_view path, PosixDescriptor descriptor)
      : File(path), descriptor_(std::move(descriptor)) {}

 private:
  Result<std::size_t> do_read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const std::size_t size = std::min(out.size() - done, kTransferSizeMax);
      const ssize_t got = retry_on_eintr([&] {
        return ::pread(descriptor_.number(), out.data() + done, size,
                       static_cast<off_t>(offset + done));
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
      const std::size_t size =
          piece_between_ways(paced_piece_size(std::min(data.size(), kTransferSizeMax)));
      const ssize_t put = retry_on_eintr([&] {
        return ::pwrite(descriptor_.number(), data.data(), size, static_cast<off_t>(offset));
      });
      // No progress and no error would loop for ever; the cause is a full device.
      const int failure = put == 0 ? ENOSPC : errno;
      if (put <= 0) {
        return posix_error(failure, path(),
                           fmt::format("write of {} bytes at offset {}", size, offset));
      }
      if (is_paced()) {
        // Only begun: to wait for it would take its errors away from the sync that must see them.
        (void)::sync_file_range(descriptor_.number(), static_cast<off_t>(offset),
                                static_cast<off_t>(put), SYNC_FILE_RANGE_WRITE);
        pace_written(static_cast<std::size_t>(put));
      }
      data = data.subspan(static_cast<std::size_t>(put));
      offset += static_cast<std::uint64_t>(put);
      give_way(static_cast<std::size_t>(put));
    }
    return {};
  }

  Status do_truncate(std::uint64_t size) override {
    if (retry_on_eintr(
            [&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(size)); }) != 0) {
      return posix_error(errno, path(), fmt::format("truncate to {} bytes", size));
    }
    return {};
  }

  Status do_extend_written(std::uint64_t from, std::uint64_t to) override {
    // Reserving first keeps the blocks together and finds a full disk before
    // anything is written. Where it cannot be had, or a signal comes between, the
    // zeros alone do; trying again could go on for ever under a periodic signal.
    const int reserved = ::fallocate(descriptor_.number(), FALLOC_FL_KEEP_SIZE,
                                     static_cast<off_t>(from), static_cast<off_t>(to - from));
    if (reserved != 0 && errno == ENOSPC) {
      return posix_error(ENOSPC, path(), fmt::format("reserving {} bytes", to - from));
    }
    static const std::byte zeros[kZerosSize] = {};
    while (from < to) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, kZerosSize));
      VARVE_TRY(do_write(from, {zeros, size}));
      from += size;
    }
    return {};
  }

  Status do_punch_hole(std::uint64_t offset, std::uint64_t size) override {
    // What was punched before a signal stays so: each attempt has less to do.
    const int punched = retry_on_eintr([&] {
      return ::fallocate(descriptor_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(offset), static_cast<off_t>(size));
    });
    if (punched != 0) {
      return posix_error(errno, path(),
                         fmt::format("punching a hole of {} bytes at offset {}", size, offset));
    }
    return {};
  }

  Status do_sync(bool data_only) override {
    // Never repeated, not even after EINTR: a sync that failed once says nothing
    // true the second time (see File).
    const int result =
        data_only ? ::fdatasync(descriptor_.number()) : ::fsync(descriptor_.number());
    if (result != 0) return posix_error(errno, path(), "sync");
    return {};
  }

  Result<std::uint64_t> do_size() const override {
    struct stat info;
    if (::fstat(descriptor_.number(), &info) != 0)
      return posix_error(errno, path(), "reading the size");
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<Bytes> do_map(std::uint64_t offset, std::size_t size) const override {
    // A mapping starts on a page; what lies before `offset` is mapped and hidden.
    const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t start = offset - offset % page_size;
    const auto length = static_cast<std::size_t>(offset - start) + size;
    void* memory = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_.number(),
                          static_cast<off_t>(start));
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
    if (::close(descriptor_.release()) != 0) return posix_error(errno, path(), "close");
    return {};
  }

  PosixDescriptor descriptor_;
};

}  // namespace

Result<std::unique_ptr<File>> open_posix_file(std::string_view path, OpenMode mode) {
  VARVE_ASSIGN(PosixDescriptor descriptor, open_posix_descriptor(path, flags_of(mode)));
  return std::make_unique<PosixFile>(path, std::move(descriptor));
}

Status sync_posix_dir(std::string_view path) {
  const std::string terminated(path);
  const PosixDescriptor descriptor(retry_on_eintr(
      [&] { return ::open(terminated.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (descriptor.number() < 0) return posix_error(errno, path, "open");
  if (::fsync(descriptor.number()) != 0) return posix_error(errno, path, "sync of the directory");
  return {};
}

}  // namespace varve
