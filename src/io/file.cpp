#include "io/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/try.h"

namespace varve {
namespace {

// Offsets are signed on POSIX; nothing we keep comes near.
constexpr std::uint64_t kFileSizeMax = std::numeric_limits<std::int64_t>::max();

}  // namespace

Status File::check_open() const {
  if (closed_.load(std::memory_order_relaxed)) {
    return invalid_argument(fmt::format("{}: the file is closed", path_));
  }
  return {};
}

Status File::check_writable() const {
  VARVE_TRY(check_open());
  if (sync_failed_.load(std::memory_order_relaxed)) {
    return io_error(fmt::format(
        "{}: an earlier sync of this file failed, so it takes no more writes; what was not "
        "acknowledged must be written to a new file",
        path_));
  }
  return {};
}

Status File::check_range(std::uint64_t offset, std::uint64_t size) const {
  if (offset > kFileSizeMax || size > kFileSizeMax - offset) {
    return invalid_argument(
        fmt::format("{}: offset {} and size {} are beyond any file", path_, offset, size));
  }
  return {};
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  VARVE_TRY(check_open());
  VARVE_TRY(check_range(offset, out.size()));
  return do_read(offset, out);
}

Status File::read_exactly(std::uint64_t offset, std::span<std::byte> out) const {
  VARVE_ASSIGN(const std::size_t read_size, read_at(offset, out));
  if (read_size == out.size()) return {};
  return corruption(fmt::format("{}: the file ends at offset {}, but {} bytes were expected at {}",
                                path_, offset + read_size, out.size(), offset));
}

Result<std::uint64_t> File::size() const {
  VARVE_TRY(check_open());
  return do_size();
}

Result<Bytes> File::read_all(std::uint64_t size_limit) const {
  VARVE_ASSIGN(const std::uint64_t file_size, size());
  // Checked before the allocation: the size comes from the disk.
  if (file_size > size_limit) {
    return corruption(
        fmt::format("{}: {} bytes large, at most {} are expected", path_, file_size, size_limit));
  }
  Buffer contents(static_cast<std::size_t>(file_size));
  VARVE_TRY(read_exactly(0, contents.span()));
  return std::move(contents).freeze();
}

Status File::write_at(std::uint64_t offset, ByteView data) {
  VARVE_TRY(check_writable());
  VARVE_TRY(check_range(offset, data.size()));
  if (data.empty()) return {};
  VARVE_TRY(do_write(offset, data));
  if (end_) end_ = std::max(*end_, offset + data.size());
  return {};
}

Result<std::uint64_t> File::end() {
  if (!end_) {
    VARVE_ASSIGN(end_, do_size());
  }
  return *end_;
}

Result<std::uint64_t> File::append(ByteView data) {
  VARVE_TRY(check_writable());
  VARVE_ASSIGN(const std::uint64_t offset, end());
  VARVE_TRY(write_at(offset, data));
  return offset;
}

Status File::truncate(std::uint64_t size) {
  VARVE_TRY(check_writable());
  VARVE_TRY(check_range(0, size));
  // If it fails it may have happened; the end is asked for again when it matters.
  end_.reset();
  VARVE_TRY(do_truncate(size));
  end_ = size;
  return {};
}

Status File::extend_written(std::uint64_t size) {
  VARVE_TRY(check_writable());
  VARVE_TRY(check_range(0, size));
  VARVE_ASSIGN(const std::uint64_t from, end());
  if (size <= from) return {};
  VARVE_TRY(do_extend_written(from, size));
  end_ = size;
  return {};
}

Status File::punch_hole(std::uint64_t offset, std::uint64_t size) {
  VARVE_TRY(check_writable());
  VARVE_TRY(check_range(offset, size));
  if (offset % kHoleAlignment != 0 || size % kHoleAlignment != 0) {
    return invalid_argument(fmt::format("{}: a hole at offset {} of size {} is not in units of {}",
                                        path_, offset, size, kHoleAlignment));
  }
  VARVE_ASSIGN(const std::uint64_t file_size, end());
  if (offset + size > file_size) {
    return invalid_argument(
        fmt::format("{}: a hole at offset {} of size {} reaches beyond the end at {}", path_,
                    offset, size, file_size));
  }
  if (size == 0) return {};
  return do_punch_hole(offset, size);
}

Status File::sync(bool data_only) {
  VARVE_TRY(check_writable());
  // Latched first and released on success alone, so that nothing that goes wrong on
  // the way, running out of memory for the message included, leaves it open.
  sync_failed_.store(true, std::memory_order_relaxed);
  Status result = do_sync(data_only);
  if (result) sync_failed_.store(false, std::memory_order_relaxed);
  return result;
}

Status File::sync_data() { return sync(true); }
Status File::sync_all() { return sync(false); }

Result<Bytes> File::map(std::uint64_t offset, std::size_t size) const {
  VARVE_TRY(check_open());
  VARVE_TRY(check_range(offset, size));
  VARVE_ASSIGN(const std::uint64_t file_size, do_size());
  // Memory beyond the end of a file raises SIGBUS when touched.
  if (offset + size > file_size) {
    return corruption(
        fmt::format("{}: the file ends at offset {}, but {} bytes were expected at {}", path_,
                    file_size, size, offset));
  }
  if (size == 0) return Bytes();
  return do_map(offset, size);
}

Status File::close() {
  if (closed_.exchange(true, std::memory_order_relaxed)) return {};
  return do_close();
}

}  // namespace varve
