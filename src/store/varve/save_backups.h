// Older generations of a varve save, kept beside it as saves of their own: NAME.backup is the
// newest, then come NAME.backup.2 and so on.
//
// The oldest one is brought up to date and becomes the newest, so that keeping one copies what
// changed since and no more. It is whole under its old number before any name changes; while names
// change it is called NAME.backup.rotating, and what a crash leaves of that is finished the
// next time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/varve/backup.h"

namespace varve {

// What the newest backup is called while it gets its name.
std::string rotating_backup_path(const std::string& root);
// Ends a change of names that a crash cut short.
Status finish_backup_rotation(Vfs& vfs, const std::string& root);

class SaveBackups {
 public:
  // `root` is the path of the save.
  SaveBackups(Vfs& vfs, const log::LogOptions& log, std::string root)
      : disk_(vfs, log), root_(std::move(root)) {}

  // Makes the generation of `source` the newest backup, unless it is, and keeps so many; 0 removes
  // them all. Backups of another save are left alone; where one has a number that is needed, it is
  // an error.
  Status keep(const BackupSource& source, std::uint32_t count);
  // Whether the last call found or left none. Looking for them at each save would cost a small one
  // a tenth of its time; what somebody puts there meanwhile stays until there is one to keep.
  bool has_none() const noexcept { return has_none_; }

 private:
  std::string path(std::uint32_t number) const;
  // Gives the backup of this number the first place; those before it move on by one.
  Status move_to_front(std::uint32_t number);
  Result<bool> is_newest(const BackupSource& source) const;
  // Removes those above the count.
  Status trim(std::vector<std::uint32_t> numbers, std::uint32_t count, const BackupSource& source);
  // Whether the backup of this number can be read and is of another save.
  bool is_foreign(std::uint32_t number, const BackupSource& source) const;

  const BackupDisk disk_;
  const std::string root_;
  bool has_none_ = false;
};

}  // namespace varve
