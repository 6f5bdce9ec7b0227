#include "support/counting_vfs.h"

#include <ostream>
#include <utility>
#include <vector>

namespace varve::test {

class CountingFile final : public File {
 public:
  CountingFile(CountingVfs& vfs, std::unique_ptr<File> below)
      : File(below->path()), vfs_(vfs), below_(std::move(below)) {}

  File& below() { return *below_; }

 protected:
  Result<std::size_t> do_read(std::uint64_t offset, std::span<std::byte> out) const override {
    auto size = below_->read_at(offset, out);
    if (size) vfs_.add(&DiskCounts::read_size, *size);
    return size;
  }
  Status do_write(std::uint64_t offset, ByteView data) override {
    vfs_.add(&DiskCounts::write_count);
    vfs_.add(&DiskCounts::written_size, data.size());
    return below_->write_at(offset, data);
  }
  Status do_truncate(std::uint64_t size) override {
    vfs_.add(&DiskCounts::write_count);
    return below_->truncate(size);
  }
  Status do_extend_written(std::uint64_t from, std::uint64_t to) override {
    vfs_.add(&DiskCounts::write_count);
    vfs_.add(&DiskCounts::written_size, to - from);
    return below_->extend_written(to);
  }
  Status do_punch_hole(std::uint64_t offset, std::uint64_t size) override {
    vfs_.add(&DiskCounts::punch_count);
    return below_->punch_hole(offset, size);
  }
  Status do_sync(bool data_only) override {
    vfs_.add(&DiskCounts::synced_file_count);
    return data_only ? below_->sync_data() : below_->sync_all();
  }
  Result<std::uint64_t> do_size() const override { return below_->size(); }
  Result<Bytes> do_map(std::uint64_t offset, std::size_t size) const override {
    return below_->map(offset, size);
  }
  Status do_close() override { return below_->close(); }

 private:
  CountingVfs& vfs_;
  std::unique_ptr<File> below_;
};

std::ostream& operator<<(std::ostream& out, const DiskCounts& counts) {
  return out << "created " << counts.created_file_count << " files and " << counts.created_dir_count
             << " folders, wrote " << counts.written_size << " bytes in " << counts.write_count
             << ", punched " << counts.punch_count << " holes, synced " << counts.synced_file_count
             << " files and " << counts.synced_dir_count << " folders, renamed "
             << counts.rename_count << ", linked " << counts.link_count << ", removed "
             << counts.remove_count << ", locked " << counts.lock_count << "; opened "
             << counts.opened_file_count << ", read " << counts.read_size << " bytes, looked at "
             << counts.info_count << ", listed " << counts.list_count << ", took "
             << counts.slot_lock_count << " slots, asked for " << counts.slot_check_count;
}

DiskCounts CountingVfs::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void CountingVfs::reset_counts() {
  const std::lock_guard lock(mutex_);
  counts_ = {};
}

void CountingVfs::before_each(Hook hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

void CountingVfs::add(std::uint64_t DiskCounts::* count, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  counts_.*count += number;
}

void CountingVfs::announce(std::string_view path) {
  Hook hook;
  {
    const std::lock_guard lock(mutex_);
    if (!hook_ || in_hook_) return;
    in_hook_ = true;
    hook = hook_;
  }
  hook(path);
  const std::lock_guard lock(mutex_);
  in_hook_ = false;
}

Result<std::unique_ptr<File>> CountingVfs::open(std::string_view path, OpenMode mode) {
  announce(path);
  const bool creates =
      mode == OpenMode::create || mode == OpenMode::create_new || mode == OpenMode::replace;
  add(creates ? &DiskCounts::created_file_count : &DiskCounts::opened_file_count);
  auto file = below_.open(path, mode);
  if (!file) return file.error();
  return std::make_unique<CountingFile>(*this, *std::move(file));
}

Result<FileInfo> CountingVfs::info(std::string_view path) {
  announce(path);
  add(&DiskCounts::info_count);
  return below_.info(path);
}

Result<std::vector<DirEntry>> CountingVfs::list(std::string_view dir) {
  announce(dir);
  add(&DiskCounts::list_count);
  return below_.list(dir);
}

Status CountingVfs::rename(std::string_view from, std::string_view to) {
  announce(to);
  add(&DiskCounts::rename_count);
  return below_.rename(from, to);
}

Status CountingVfs::exchange(std::string_view a, std::string_view b) {
  announce(a);
  add(&DiskCounts::rename_count);
  return below_.exchange(a, b);
}

Status CountingVfs::link(std::string_view existing, std::string_view added) {
  announce(added);
  add(&DiskCounts::link_count);
  return below_.link(existing, added);
}

Status CountingVfs::remove(std::string_view path) {
  announce(path);
  add(&DiskCounts::remove_count);
  return below_.remove(path);
}

Status CountingVfs::create_dir(std::string_view path) {
  announce(path);
  add(&DiskCounts::created_dir_count);
  return below_.create_dir(path);
}

Status CountingVfs::remove_dir(std::string_view path) {
  announce(path);
  add(&DiskCounts::remove_count);
  return below_.remove_dir(path);
}

Status CountingVfs::sync_dir(std::string_view path) {
  announce(path);
  add(&DiskCounts::synced_dir_count);
  return below_.sync_dir(path);
}

Status CountingVfs::sync_data(std::span<File* const> files) {
  add(&DiskCounts::synced_file_count, files.size());
  std::vector<File*> below;
  for (File* file : files) below.push_back(&static_cast<CountingFile*>(file)->below());
  return below_.sync_data(below);
}

Result<std::uint64_t> CountingVfs::free_space(std::string_view path) {
  announce(path);
  return below_.free_space(path);
}

Result<std::unique_ptr<WriterLock>> CountingVfs::lock_writer(std::string_view path) {
  announce(path);
  add(&DiskCounts::lock_count);
  return below_.lock_writer(path);
}

Result<std::unique_ptr<SlotLock>> CountingVfs::lock_slot(std::string_view path,
                                                         std::uint32_t index) {
  announce(path);
  add(&DiskCounts::slot_lock_count);
  return below_.lock_slot(path, index);
}

Result<bool> CountingVfs::is_slot_locked(std::string_view path, std::uint32_t index) {
  announce(path);
  add(&DiskCounts::slot_check_count);
  return below_.is_slot_locked(path, index);
}

}  // namespace varve::test
