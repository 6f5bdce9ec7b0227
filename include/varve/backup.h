// Hot backups: a save of the varve format copied as it is at one generation, while the game goes
// on playing and saving.
//
//   Progress progress;
//   auto report = back_up(store, "backups/world", {}, progress);
//
// A backup is a save like any other: `varve info` looks into it, and a game opens it. The
// next call with the same target brings it up to date by moving only what changed since.
//
// What a crash, a full disk or a failure leaves at the target is what was there before (nothing, or
// the older backup) or the new one, whole. A copy that is under way is called
// TARGET.unfinished-backup; the next call removes what is left of it.
//
// Damage is never handed on. A record that is damaged in the save and of which the backup holds the
// same version costs nothing: the backup keeps its good copy. One that would have to be copied
// makes the whole call fail with `corruption`, which names such records, and leaves the target as
// it was: whatever replaced it would hold less. So does a save that lost a part of itself, as its
// opening found, or an earlier one that left log/*.damaged in it: what is lost looks like what was
// erased. World::save_to() and `varve convert --lossy` copy what can still
// be read of such saves.
//
// Nothing here throws.
#pragma once

#include <cstdint>
#include <string_view>

#include "varve/result.h"
#include "varve/store.h"

namespace varve {

// Counts are of stored values: one for a chunk, a player or a global, two for an entity, and those
// the save keeps for itself, such as the names of its spaces. Its header is not counted.
struct BackupReport {
  std::uint64_t generation = 0;  // that the target holds now
  std::uint64_t tick = 0;
  std::uint64_t copied_count = 0;
  std::uint64_t copied_size = 0;   // as they are stored: compressed
  std::uint64_t erased_count = 0;  // removed from the target, since the save has them no more
  std::uint64_t unchanged_count = 0;
  // The target was there and was brought up to date. False if it was written whole.
  bool incremental = false;
};

struct BackupOptions {
  // What may be copied a second, so that the disk has time for others. 0: as fast as it goes.
  std::uint64_t size_per_second = 0;
};

// Copies the newest generation of `source` to the path `target`. It may be called on any thread,
// and blocks it; the source goes on being read and committed to, and must not be closed meanwhile.
// Space that is freed in it is not reused until this is done.
//
// Where nothing is at the target, it is written whole. A link to a folder is followed. Where a
// backup of the same save is, of this generation or an older one, it becomes this one: in one
// atomic step if what changed is 64 MiB at the most, else by a new copy that takes its place. On
// file systems that cannot swap two names there is a moment in which the old backup is called
// TARGET.replaced-backup and nothing is at the target; if a crash hits it, the next call puts it
// back. A target that holds the same already gets nothing new.
//
// Refused, with nothing changed: invalid_argument for a target that is no varve save, a backup of
// another save, a newer generation, or the source itself; busy if somebody has it open to write;
// unsupported for a source of another format: World::save_to() and `varve convert` copy those.
Result<BackupReport> back_up(const Store& source, std::string_view target,
                             const BackupOptions& options, Progress& progress);

// Makes the save at `save` what the backup at `backup` holds; the backup is not changed, and may be
// one of those beside the save, which all stay. The save must be closed: busy otherwise. A save
// that is there is kept as SAVE.before-restore, and the call is refused if that name is taken too;
// and with `corruption` if the backup has damaged records or lost some. A journal of the save knows
// what came after the backup: varve/journal.h says what to do with it.
//
// The copy is made at SAVE.unfinished-restore, from values that are each compared with their
// checksum, before anything is renamed. A crash leaves the old save or the restored one at `save`,
// or, between two renames, nothing there and the old one at SAVE.before-restore: restoring again
// then goes on.
Result<BackupReport> restore_backup(std::string_view backup, std::string_view save,
                                    Progress& progress);

}  // namespace varve
