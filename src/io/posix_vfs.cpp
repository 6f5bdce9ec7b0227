#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#include "base/try.h"
#include "io/path.h"
#include "io/posix_descriptor.h"
#include "io/posix_error.h"
#include "io/posix_file.h"
#include "io/posix_lock.h"
#include "io/vfs.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// More syncs at once than this gain nothing on any disk we measured.
constexpr std::size_t kParallelSyncCountMax = 8;

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::file;
  if (S_ISDIR(mode)) return FileKind::directory;
  return FileKind::other;
}

Status done_or_error(int result, std::string_view path, std::string_view what) {
  if (result != 0) return posix_error(errno, path, what);
  return {};
}

class PosixVfs final : public Vfs {
 public:
  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override {
    return open_posix_file(path, mode);
  }

  Result<FileInfo> info(std::string_view path) override {
    struct stat info;
    if (::stat(std::string(path).c_str(), &info) != 0) return posix_error(errno, path, "look-up");
    constexpr std::uint64_t kStatBlockSize = 512;  // By definition, whatever the disk uses.
    return FileInfo{kind_of(info.st_mode), static_cast<std::uint64_t>(info.st_size),
                    static_cast<std::uint64_t>(info.st_blocks) * kStatBlockSize};
  }

  Result<std::string> resolve(std::string_view path) override;
  Result<std::vector<DirEntry>> list(std::string_view dir) override;
  std::uint64_t boot_id() override;

  Status rename(std::string_view from, std::string_view to) override {
    const int result = ::rename(std::string(from).c_str(), std::string(to).c_str());
    // A directory over a file, or into itself: no name is missing.
    if (result != 0 && (errno == ENOTDIR || errno == EINVAL)) {
      return invalid_argument(fmt::format("{}: cannot take the place of {}", from, to));
    }
    return done_or_error(result, from, fmt::format("rename to {}", to));
  }

  Status exchange(std::string_view a, std::string_view b) override {
    const int result = ::renameat2(AT_FDCWD, std::string(a).c_str(), AT_FDCWD,
                                   std::string(b).c_str(), RENAME_EXCHANGE);
    // EINVAL is how a file system without the flag answers.
    if (result != 0 && errno == EINVAL) {
      return unsupported(fmt::format("{}: this file system cannot exchange it with {}", a, b));
    }
    return done_or_error(result, a, fmt::format("exchange with {}", b));
  }

  Status link(std::string_view existing, std::string_view added) override {
    const int result = ::link(std::string(existing).c_str(), std::string(added).c_str());
    const int failure = errno;
    // EPERM is how a file system without hard links answers, and any for a directory.
    if (result != 0 && failure == EPERM) {
      if (const auto there = info(existing); there && there->kind == FileKind::directory) {
        return invalid_argument(fmt::format("{}: a directory cannot be linked", existing));
      }
      return unsupported(fmt::format("{}: this file system cannot link it to {}", existing, added));
    }
    if (result != 0) return posix_error(failure, existing, fmt::format("link to {}", added));
    return {};
  }

  Status remove(std::string_view path) override {
    return done_or_error(::unlink(std::string(path).c_str()), path, "remove");
  }

  Status create_dir(std::string_view path) override {
    if (::mkdir(std::string(path).c_str(), 0777) == 0) return {};
    const int failure = errno;
    // A link to a directory is not taken for one: what is written into it would land
    // outside the save.
    struct stat there;
    if (failure == EEXIST && ::lstat(std::string(path).c_str(), &there) == 0 &&
        S_ISDIR(there.st_mode)) {
      return {};
    }
    return posix_error(failure, path, "creating the directory");
  }

  Status remove_dir(std::string_view path) override {
    return done_or_error(::rmdir(std::string(path).c_str()), path, "removing the directory");
  }

  Status sync_dir(std::string_view path) override { return sync_posix_dir(path); }

  Status sync_data(std::span<File* const> files) override;

  Result<std::uint64_t> free_space(std::string_view path) override {
    struct statvfs info;
    if (::statvfs(std::string(path).c_str(), &info) != 0) {
      return posix_error(errno, path, "asking for free space");
    }
    return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  }

  Result<std::unique_ptr<WriterLock>> lock_writer(std::string_view path) override {
    return lock_posix_writer(path);
  }

  Result<std::unique_ptr<NoWriterLock>> lock_writers_out(std::string_view path) override {
    return lock_posix_writers_out(path);
  }

  Result<std::unique_ptr<SlotLock>> lock_slot(std::string_view path, std::uint32_t index) override {
    return lock_posix_slot(path, index);
  }

  Result<bool> is_slot_locked(std::string_view path, std::uint32_t index) override {
    return is_posix_slot_locked(path, index);
  }
};

Result<DirEntry> describe_entry(std::string_view path, DIR* dir, const dirent& entry) {
  DirEntry described{.name = entry.d_name};
  // Links are followed. One that leads nowhere, in a circle or where nobody may look is no reason
  // to hide the rest.
  struct stat info;
  if (entry.d_type == DT_DIR) {
    described.kind = FileKind::directory;
  } else if (::fstatat(::dirfd(dir), entry.d_name, &info, 0) == 0) {
    described.kind = kind_of(info.st_mode);
    if (described.kind == FileKind::file) described.size = static_cast<std::uint64_t>(info.st_size);
  } else {
    const int failure = errno;
    // It went between the two calls; it was one when it was listed.
    if (entry.d_type == DT_REG) described.kind = FileKind::file;
    struct stat itself;
    const bool leads_nowhere =
        ::fstatat(::dirfd(dir), entry.d_name, &itself, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(itself.st_mode);
    // Never not_found: the directory is there.
    if (failure != ENOENT && !leads_nowhere) {
      return io_error(
          posix_error(failure, path, fmt::format("look-up of {}", entry.d_name)).message());
    }
  }
  return described;
}

Result<std::string> PosixVfs::resolve(std::string_view path) {
  const auto real_path = [](std::string_view of) {
    return std::unique_ptr<char, decltype(&std::free)>(::realpath(std::string(of).c_str(), nullptr),
                                                       &std::free);
  };
  if (const auto found = real_path(path)) return std::string(found.get());
  if (errno != ENOENT) return posix_error(errno, path, "resolving the path");
  const auto parent = real_path(path_parent(path));
  if (!parent) return posix_error(errno, path, "resolving the path");
  return path_join(parent.get(), path_name(path));
}

Result<std::vector<DirEntry>> PosixVfs::list(std::string_view dir) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(std::string(dir).c_str()), ::closedir);
  if (!stream) return posix_error(errno, dir, "listing the directory");
  std::vector<DirEntry> entries;
  for (;;) {
    errno = 0;  // readdir() tells its end from a failure by errno alone.
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    VARVE_ASSIGN(DirEntry described, describe_entry(dir, stream.get(), *entry));
    entries.push_back(std::move(described));
  }
  if (errno != 0) return posix_error(errno, dir, "listing the directory");
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

std::uint64_t PosixVfs::boot_id() {
  static const std::uint64_t id = []() -> std::uint64_t {
    // A file of the kernel's, without a size: it is read as far as it goes.
    const auto descriptor = open_posix_descriptor("/proc/sys/kernel/random/boot_id", O_RDONLY);
    if (!descriptor) return 0;
    char text[64];
    const ssize_t size = ::read(descriptor->number(), text, sizeof text);
    return size > 0 ? xxh3(as_byte_view({text, static_cast<std::size_t>(size)})) : 0;
  }();
  return id;
}

Status PosixVfs::sync_data(std::span<File* const> files) {
  std::vector<Status> results(files.size());
  std::atomic<bool> out_of_memory = false;
  // Thread k syncs files k, k + n, k + 2n ... so that all are tried. Nothing may
  // escape from it: an exception on a thread ends the program.
  const std::size_t thread_count = std::min(files.size(), kParallelSyncCountMax);
  const auto sync_every_nth = [&](std::size_t first) {
    for (std::size_t i = first; i < files.size(); i += thread_count) {
      try {
        results[i] = files[i]->sync_data();
      } catch (...) {
        out_of_memory = true;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(thread_count);
    for (std::size_t k = 1; k < thread_count; ++k) {
      try {
        threads.emplace_back(sync_every_nth, k);
      } catch (const std::exception&) {
        sync_every_nth(k);  // No thread to be had: slower, not wrong.
      }
    }
    if (!files.empty()) sync_every_nth(0);
  }
  if (out_of_memory) return io_error("sync of several files failed: out of memory");
  for (const Status& result : results) {
    if (!result) return result;
  }
  return {};
}

}  // namespace

Vfs& posix_vfs() {
  static PosixVfs vfs;
  return vfs;
}

}  // namespace varve
