// Copying the keys and values of a save from one backend to another. For backup.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/varve/backup.h"

namespace varve {

// One copy under way: its pace, its progress, what it counted and what it found damaged.
class BackupCopy {
 public:
  BackupCopy(const BackupSource& source, const BackupOptions& options,
             const BackupDisk::Limits& limits, Progress& progress);

  // Puts everything into a backend that holds nothing but a header, and makes it durable.
  Status copy_all(Backend& target);

  // Makes `target` what the source is, in one batch. False, with nothing changed, if that is more
  // than one batch may hold.
  Result<bool> copy_changes(Backend& target);

  // Whether `target` is what the source is, as far as heads and sizes of values tell.
  Result<bool> is_same(const ReadView& target);

  BackupReport& report() noexcept { return report_; }

 private:
  struct Changes {
    std::vector<Bytes> put;  // keys
    std::vector<Bytes> erased;
    bool is_too_much = false;
  };

  Result<Changes> find_changes(const ReadView& target);
  // Nullopt if the value is damaged, which is noted.
  Result<std::optional<Bytes>> checked(const Bytes& key, Result<Bytes> value);
  // Takes the time that copying so much may take, and says how far it is.
  Status pace(std::uint64_t size);
  // An error if anything was damaged.
  Status whole() const;
  std::string name_of(ByteView key) const;

  const BackupSource& source_;
  const ReadView& snapshot_;
  const BackupOptions options_;
  const BackupDisk::Limits limits_;
  Progress& progress_;
  BackupReport report_;
  const std::chrono::steady_clock::time_point begun_at_ = std::chrono::steady_clock::now();
  std::uint64_t paced_size_ = 0;
  std::vector<std::string> damaged_;  // the first few
  std::uint64_t damaged_count_ = 0;
};

}  // namespace varve
