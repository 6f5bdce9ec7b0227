// Hot backups on any disk: include/varve/backup.h says what they promise.
//
// What is copied are the keys and values of the backend as they lie there. A frame carries
// everything it needs and is bound to its key, so nothing is decoded or compressed again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend/log/log_options.h"
#include "io/vfs.h"
#include "store/varve/varve_store.h"
#include "varve/backup.h"

namespace varve {

// Behind the path of a target or a save. Long, so that nobody gives them by accident.
inline constexpr std::string_view kUnfinishedBackupSuffix = ".unfinished-backup";
inline constexpr std::string_view kReplacedBackupSuffix = ".replaced-backup";
inline constexpr std::string_view kUnfinishedRestoreSuffix = ".unfinished-restore";
inline constexpr std::string_view kBeforeRestoreSuffix = ".before-restore";

// Where backups are kept, and how. The disk must outlive it.
class BackupDisk {
 public:
  struct Limits {
    // What is changed in one batch, which is held in memory; beyond it a new copy is made.
    std::uint64_t change_size_max = std::uint64_t{64} << 20;
    // What is read and written at a time.
    std::uint64_t page_size = std::uint64_t{4} << 20;
  };

  explicit BackupDisk(Vfs& vfs,
                      const log::LogOptions& log = {.traits = log::file_backend_traits()});
  BackupDisk(Vfs& vfs, const log::LogOptions& log, const Limits& limits);

  Vfs& vfs() const noexcept { return vfs_; }
  // Saves as they are.
  const Format& saves() const noexcept { return *saves_; }
  // Those that are being written: nothing is synced before they are whole.
  const Format& copies() const noexcept { return *copies_; }
  const Limits& limits() const noexcept { return limits_; }

 private:
  Vfs& vfs_;
  std::unique_ptr<const Format> saves_;
  std::unique_ptr<const Format> copies_;
  Limits limits_;
};

// One generation, held.
struct BackupSource {
  std::unique_ptr<VarveView> view;
  std::string path;
  // About how much there is, for the progress.
  std::uint64_t entry_count = 0;
  std::uint64_t live_size = 0;
  // Why it holds less than it once did, if that was seen when it was opened.
  std::optional<Error> loss = {};
};

// unsupported if it is no store of the varve format.
Result<BackupSource> pin_for_backup(const Store& store);

// What becomes of a target that holds a newer generation of the same save: somebody went on in it,
// or the save was put back to an older one.
enum class NewerTarget : std::uint8_t { refuse, replace };

Result<BackupReport> back_up(const BackupSource& source, std::string_view target,
                             const BackupOptions& options, Progress& progress,
                             const BackupDisk& disk, NewerTarget newer = NewerTarget::refuse);
// Of the save at `path`, if it can be read.
std::optional<std::uint64_t> read_save_id(const Format& saves, const std::string& path);
Result<BackupReport> restore_backup(std::string_view backup, std::string_view save,
                                    Progress& progress, const BackupDisk& disk);

}  // namespace varve
