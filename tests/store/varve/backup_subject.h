// A save and its backup as a Subject of the crash driver.
//
// Its steps are the calls themselves. The records of the save are shown as "world/...", those of
// the backup as "backup/..." and those of the save that a restore put aside as "kept/...".
#pragma once

#include "backend/log/small_log.h"
#include "crash/io_error_sweep.h"
#include "crash/subject.h"
#include "store/varve/backup.h"

namespace varve::test {

// Steps a BackupSubject knows.
inline constexpr std::string_view kBackUp = "back up";
inline constexpr std::string_view kRestore = "restore";

struct BackupWay {
  // 16 is less than any change: then a new copy takes the place of the old backup.
  std::uint64_t change_size_max = std::uint64_t{1} << 20;
  // Whether two names can be swapped.
  bool has_links = true;
  // Whether the backup alone is looked at, on a copy of the disk: that leaves no trace in its log,
  // and takes little time where there is none.
  bool looks_at_backup_alone = false;
};

class BackupSubject final : public crash::Subject {
 public:
  BackupSubject(const BackupWay& way, crash::Step step) : way_(way), step_(std::move(step)) {}

  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  // What an interrupted call left must not stand in the way of the next.
  crash::Step one_more() const override { return step_; }

 private:
  const BackupWay way_;
  const crash::Step step_;
};

// The disk before, and what the step makes of it.
struct BackupScene {
  crash::Start start;
  crash::Step step;
};

// A world of `commit_count` generations, and its backup of the last but one where there is one.
Result<BackupScene> make_backup_scene(const BackupWay& way, bool has_backup,
                                      std::string_view upkeep, std::size_t commit_count = 3);

}  // namespace varve::test
