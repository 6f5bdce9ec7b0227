// A file that is opened when it is first used.
//
// A save of many files is opened to read a few of them: the others cost neither time nor a
// descriptor before somebody wants them. What goes wrong with opening is the answer of the call
// that needed it, and is tried again by the next one. Whoever takes its name away uses it first.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "io/file.h"
#include "io/vfs.h"

namespace varve {

class DeferredFile final : public File {
 public:
  // `vfs` must outlive it.
  DeferredFile(Vfs& vfs, std::string_view path, OpenMode mode)
      : File(path), vfs_(vfs), mode_(mode) {}

 protected:
  Result<std::size_t> do_read(std::uint64_t offset, std::span<std::byte> out) const override;
  Status do_write(std::uint64_t offset, ByteView data) override;
  Status do_truncate(std::uint64_t size) override;
  Status do_extend_written(std::uint64_t from, std::uint64_t to) override;
  Status do_punch_hole(std::uint64_t offset, std::uint64_t size) override;
  Status do_sync(bool data_only) override;
  Result<std::uint64_t> do_size() const override;
  Result<Bytes> do_map(std::uint64_t offset, std::size_t size) const override;
  Status do_close() override;

 private:
  Result<File*> opened() const;

  Vfs& vfs_;
  const OpenMode mode_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<File> file_;          // guarded
  mutable std::atomic<File*> ready_ = nullptr;  // the same, once it is there
};

}  // namespace varve
