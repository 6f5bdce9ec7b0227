#include "io/deferred_file.h"

#include "base/try.h"

namespace varve {

Result<File*> DeferredFile::opened() const {
  if (File* there = ready_.load(std::memory_order_acquire)) return there;
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) {
    VARVE_ASSIGN(file_, vfs_.open(path(), mode_));
    ready_.store(file_.get(), std::memory_order_release);
  }
  return file_.get();
}

Result<std::size_t> DeferredFile::do_read(std::uint64_t offset, std::span<std::byte> out) const {
  VARVE_ASSIGN(const File* file, opened());
  return file->read_at(offset, out);
}

Status DeferredFile::do_write(std::uint64_t offset, ByteView data) {
  VARVE_ASSIGN(File * file, opened());
  return file->write_at(offset, data);
}

Status DeferredFile::do_truncate(std::uint64_t size) {
  VARVE_ASSIGN(File * file, opened());
  return file->truncate(size);
}

Status DeferredFile::do_extend_written(std::uint64_t /*from*/, std::uint64_t to) {
  VARVE_ASSIGN(File * file, opened());
  return file->extend_written(to);
}

Status DeferredFile::do_punch_hole(std::uint64_t offset, std::uint64_t size) {
  VARVE_ASSIGN(File * file, opened());
  return file->punch_hole(offset, size);
}

Status DeferredFile::do_sync(bool data_only) {
  VARVE_ASSIGN(File * file, opened());
  return data_only ? file->sync_data() : file->sync_all();
}

Result<std::uint64_t> DeferredFile::do_size() const {
  VARVE_ASSIGN(const File* file, opened());
  return file->size();
}

Result<Bytes> DeferredFile::do_map(std::uint64_t offset, std::size_t size) const {
  VARVE_ASSIGN(const File* file, opened());
  return file->map(offset, size);
}

Status DeferredFile::do_close() {
  const std::lock_guard lock(mutex_);
  return file_ != nullptr ? file_->close() : Status();
}

}  // namespace varve
