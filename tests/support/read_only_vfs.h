// The real disk as it is seen by somebody who may read and nothing else.
#pragma once

#include <string>

#include "io/vfs.h"

namespace varve::test {

class ReadOnlyVfs final : public Vfs {
 public:
  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override {
    if (mode != OpenMode::read) return refusal(path);
    return disk_.open(path, mode);
  }
  Result<FileInfo> info(std::string_view path) override { return disk_.info(path); }
  Result<std::string> resolve(std::string_view path) override { return disk_.resolve(path); }
  Result<std::vector<DirEntry>> list(std::string_view dir) override { return disk_.list(dir); }
  Status rename(std::string_view from, std::string_view) override { return refusal(from); }
  Status exchange(std::string_view a, std::string_view) override { return refusal(a); }
  Status link(std::string_view existing, std::string_view) override { return refusal(existing); }
  Status remove(std::string_view path) override { return refusal(path); }
  Status create_dir(std::string_view path) override { return refusal(path); }
  Status remove_dir(std::string_view path) override { return refusal(path); }
  Status sync_dir(std::string_view path) override { return refusal(path); }
  Status sync_data(std::span<File* const>) override { return refusal("files"); }
  Result<std::uint64_t> free_space(std::string_view path) override {
    return disk_.free_space(path);
  }
  std::uint64_t boot_id() override { return disk_.boot_id(); }
  Result<std::unique_ptr<WriterLock>> lock_writer(std::string_view path) override {
    return refusal(path);
  }
  Result<std::unique_ptr<NoWriterLock>> lock_writers_out(std::string_view path) override {
    return disk_.lock_writers_out(path);
  }
  Result<std::unique_ptr<SlotLock>> lock_slot(std::string_view path, std::uint32_t) override {
    return refusal(path);
  }
  Result<bool> is_slot_locked(std::string_view path, std::uint32_t index) override {
    return disk_.is_slot_locked(path, index);
  }

 private:
  static Error refusal(std::string_view path) {
    return io_error(std::string(path) + ": this disk is read-only");
  }

  Vfs& disk_ = posix_vfs();
};

}  // namespace varve::test
