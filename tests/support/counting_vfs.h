// A disk that counts what is asked of it, and can call the test before each call.
//
// It stands in front of another one. Counts are exact and the same in every run, so that a
// test can say what a save costs without a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string_view>

#include "io/vfs.h"

namespace varve::test {

struct DiskCounts {
  // What changes a disk.
  std::uint64_t created_file_count = 0;
  std::uint64_t created_dir_count = 0;  // also of folders that were there
  std::uint64_t write_count = 0;
  std::uint64_t written_size = 0;
  std::uint64_t punch_count = 0;
  std::uint64_t synced_file_count = 0;
  std::uint64_t synced_dir_count = 0;
  std::uint64_t rename_count = 0;
  std::uint64_t link_count = 0;
  std::uint64_t remove_count = 0;
  std::uint64_t lock_count = 0;
  // What only looks.
  std::uint64_t opened_file_count = 0;
  std::uint64_t read_size = 0;
  std::uint64_t info_count = 0;
  std::uint64_t list_count = 0;
  std::uint64_t slot_lock_count = 0;  // leaves no trace on a disk
  std::uint64_t slot_check_count = 0;

  // Calls that may have changed something.
  std::uint64_t change_count() const {
    return created_file_count + created_dir_count + write_count + punch_count + synced_file_count +
           synced_dir_count + rename_count + link_count + remove_count + lock_count;
  }
  friend bool operator==(const DiskCounts&, const DiskCounts&) = default;
  friend std::ostream& operator<<(std::ostream& out, const DiskCounts& counts);
};

class CountingVfs final : public Vfs {
 public:
  std::uint64_t boot_id() override { return below_.boot_id(); }
  // Called with the path before each call that takes one, with no lock held. It may use
  // the disk itself; those calls are counted, but not announced.
  using Hook = std::function<void(std::string_view path)>;

  explicit CountingVfs(Vfs& below) : below_(below) {}

  DiskCounts counts() const;
  void reset_counts();
  void before_each(Hook hook);

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<FileInfo> info(std::string_view path) override;
  Result<std::vector<DirEntry>> list(std::string_view dir) override;
  Status rename(std::string_view from, std::string_view to) override;
  Status exchange(std::string_view a, std::string_view b) override;
  Status link(std::string_view existing, std::string_view added) override;
  Status remove(std::string_view path) override;
  Status create_dir(std::string_view path) override;
  Status remove_dir(std::string_view path) override;
  Status sync_dir(std::string_view path) override;
  Status sync_data(std::span<File* const> files) override;
  Result<std::uint64_t> free_space(std::string_view path) override;
  Result<std::unique_ptr<WriterLock>> lock_writer(std::string_view path) override;
  Result<std::unique_ptr<SlotLock>> lock_slot(std::string_view path, std::uint32_t index) override;
  Result<bool> is_slot_locked(std::string_view path, std::uint32_t index) override;

 private:
  friend class CountingFile;

  void add(std::uint64_t DiskCounts::* count, std::uint64_t number = 1);
  void announce(std::string_view path);

  Vfs& below_;
  mutable std::mutex mutex_;
  DiskCounts counts_;
  Hook hook_;
  bool in_hook_ = false;
};

}  // namespace varve::test
