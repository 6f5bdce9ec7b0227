// An open file.
//
// Thread safety: reads, maps and size() may run on any thread at any time before
// close(). Calls that change or sync the file are made by one thread at a time, and
// through one File: another one would not know of its appends or of its latch.
//
// Durability: nothing written is durable before a sync returned success. After a
// *failed* sync the kernel may have dropped the unwritten pages and would report
// success the next time, so the file latches: it takes no more writes or syncs,
// and its owner must write its data again, into another file, from memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

class File {
 public:
  // Closes without reporting; call close() where a failure matters.
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const noexcept { return path_; }

  // Reads at `offset` until `out` is full or the file ends; returns how much.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) const;
  // Fills `out`; a file that ends before is corruption.
  Status read_exactly(std::uint64_t offset, std::span<std::byte> out) const;
  // The whole file, or corruption if it is larger than `size_limit`.
  Result<Bytes> read_all(std::uint64_t size_limit) const;

  // Writes all of `data` at `offset`, growing the file if needed. After a failure
  // any part of it may have been written.
  Status write_at(std::uint64_t offset, ByteView data);
  // Writes at the end and returns where that was. The end is the one this File
  // knows: what a failed append left behind is overwritten by the next.
  Result<std::uint64_t> append(ByteView data);
  // Cuts the file or grows it with zeros that occupy no space yet.
  Status truncate(std::uint64_t size);
  // Grows the file to `size` with zeros that are really *written*: overwriting
  // such blocks later syncs faster than extending, and cannot run out of space.
  // No effect if the file is that large already. Durable only after a sync.
  Status extend_written(std::uint64_t size);
  // Gives the space of [offset, offset + size) back; it reads as zeros afterwards and
  // the size of the file stays. Both are multiples of kHoleAlignment, inside the file.
  // unsupported where the file system cannot. After a failure any part may be zeros;
  // a crash may bring bytes back until a sync. A later write there takes space again
  // and may run out of it, even where extend_written() had been.
  Status punch_hole(std::uint64_t offset, std::uint64_t size);
  static constexpr std::uint64_t kHoleAlignment = 4096;

  // Makes contents and size durable (not the name: that is Vfs::sync_dir).
  Status sync_data();
  // The same and all other attributes.
  Status sync_all();

  Result<std::uint64_t> size() const;

  // Read-only memory showing [offset, offset + size), which must lie inside the
  // file now. Later writes show through, growth does not move it, and it outlives
  // the File. The part must not be cut off by truncate() while it is mapped.
  Result<Bytes> map(std::uint64_t offset, std::size_t size) const;

  // Releases the file. Only the first call does anything; a failure means that
  // data which was not synced may be gone.
  Status close();

 protected:
  explicit File(std::string_view path) : path_(path) {}

  // What a kind of disk must do. Offsets and sizes arrive checked, and a latched
  // or closed file never gets here.
  virtual Result<std::size_t> do_read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual Status do_write(std::uint64_t offset, ByteView data) = 0;
  virtual Status do_truncate(std::uint64_t size) = 0;
  virtual Status do_extend_written(std::uint64_t from, std::uint64_t to) = 0;
  virtual Status do_punch_hole(std::uint64_t offset, std::uint64_t size) = 0;
  virtual Status do_sync(bool data_only) = 0;
  virtual Result<std::uint64_t> do_size() const = 0;
  virtual Result<Bytes> do_map(std::uint64_t offset, std::size_t size) const = 0;
  virtual Status do_close() = 0;

 private:
  Status check_open() const;
  Status check_writable() const;
  Status check_range(std::uint64_t offset, std::uint64_t size) const;
  Status sync(bool data_only);
  // The end of the file as append() sees it; asked for once, then kept.
  Result<std::uint64_t> end();

  std::string path_;
  std::optional<std::uint64_t> end_;
  std::atomic<bool> sync_failed_ = false;
  std::atomic<bool> closed_ = false;
};

}  // namespace varve
