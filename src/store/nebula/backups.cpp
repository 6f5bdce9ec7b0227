#include "store/nebula/backups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "io/path.h"
#include "store/nebula/save_files.h"
#include "store/nebula/save_opening.h"
#include "store/save_folder.h"

namespace varve::nebula {
namespace {

CatalogRecord record_of(const SaveIndex& target, std::vector<IndexChange> changes) {
  return {.kind = CatalogRecordKind::changes,
          .sequence = target.sequence,
          .generation = target.generation,
          .tick = target.tick,
          .generator = target.generator,
          .changes = std::move(changes)};
}

// Whether both are the same but for `keys`, and those are. Closing a save raises its
// sequence and changes nothing else.
bool is_same_generation(const SaveIndex& a, const SaveIndex& b, const KeySet& keys) {
  const auto is_same = [&](const RecordKey& key) { return is_same_file(a.find(key), b.find(key)); };
  return a.generation == b.generation && a.tick == b.tick && a.generator == b.generator &&
         std::all_of(keys.begin(), keys.end(), is_same);
}

Result<std::unique_ptr<WriterLock>> lock_backup(Vfs& vfs, const SaveLayout& backup) {
  VARVE_ASSIGN(const bool is_ours, is_save(vfs, backup));
  if (is_ours) {
    VARVE_TRY(make_folders_durably(vfs, backup));
    return lock_save(vfs, backup);
  }
  return invalid_argument(fmt::format(
      "{} is in the way of a backup and is no save of this format; move it away, or keep no "
      "backups",
      backup.root()));
}

}  // namespace

Result<std::vector<std::uint32_t>> list_backups(Vfs& vfs, const SaveLayout& save) {
  return varve::list_backups(vfs, save.root());
}

SaveLayout Backups::layout(std::size_t number) const {
  if (number == 0) return save_;
  return SaveLayout(backup_path(save_.root(), static_cast<std::uint32_t>(number)));
}

const SaveIndex& Backups::index_before(std::size_t number, const SaveIndex& save) const {
  return number == 1 ? save : slots_[number - 2]->index;
}

void Backups::note(const std::vector<IndexChange>& changes) {
  if (slots_.empty() || !slots_[0]) return;
  for (const IndexChange& change : changes) slots_[0]->behind.insert(change.key);
}

bool Backups::is_free(std::size_t number, const SaveIndex& save) const {
  const auto& slot = slots_[number - 1];
  return !slot || is_same_generation(slot->index, index_before(number, save), slot->behind);
}

Result<std::uint64_t> Backups::rotate(const SaveIndex& save, std::uint32_t count) {
  count = std::min(count, kBackupCountMax);
  if (count == 0) return std::uint64_t{0};
  VARVE_TRY(load(save, count));
  std::size_t last = 1;
  while (last < count && !is_free(last, save)) ++last;
  // One that is the same as the one in front of it has what it should have.
  if (slots_[last - 1] && is_free(last, save)) --last;
  std::uint64_t written_size = 0;
  for (std::size_t number = last; number >= 1; --number) {
    const SaveIndex target = index_before(number, save);
    const bool is_new = !slots_[number - 1];
    KeySet changed;
    if (!is_new) changed = slots_[number - 1]->behind;
    VARVE_ASSIGN(const std::uint64_t size,
                 is_new ? make_anew(number, count, target) : bring_up(number, target));
    written_size += size;
    // The one behind it, brought up just now or not at all, has not followed it there.
    if (number == slots_.size() || !slots_[number]) continue;
    if (is_new) {
      slots_[number].reset();
    } else {
      slots_[number]->behind.merge(changed);
    }
  }
  return written_size;
}

Status Backups::load(const SaveIndex& save, std::uint32_t count) {
  if (slots_.size() < count) slots_.resize(count);
  const SaveIndex* in_front = &save;
  for (std::size_t number = 1; number <= count; ++number) {
    if (slots_[number - 1]) {
      VARVE_ASSIGN(const CatalogMark mark, mark_of_catalog(vfs_, layout(number)));
      if (mark != slots_[number - 1]->catalog_mark) slots_[number - 1].reset();
    }
    if (!slots_[number - 1]) {
      VARVE_TRY(load_slot(number, *in_front));
      // The one behind it was compared with what we took it for.
      if (number < slots_.size() && slots_[number] && slots_[number - 1]) {
        slots_[number]->behind = difference(slots_[number - 1]->index, slots_[number]->index);
      }
    }
    if (!slots_[number - 1]) break;
    in_front = &slots_[number - 1]->index;
  }
  return {};
}

// Leaves the slot free if there is no backup, or one that no commit can go on from.
Status Backups::load_slot(std::size_t number, const SaveIndex& in_front) {
  const SaveLayout backup = layout(number);
  VARVE_ASSIGN(const bool is_there, vfs_.exists(backup.root()));
  if (!is_there) return {};
  VARVE_ASSIGN(const auto lock, lock_backup(vfs_, backup));
  VARVE_ASSIGN(auto found, find_save(vfs_, backup));
  VARVE_ASSIGN(auto writer, recover_save(vfs_, backup, found));
  KeySet behind = difference(found.index, in_front);
  // Of files nobody has a checksum of, only their bytes tell.
  const SaveLayout next = layout(number - 1);
  std::erase_if(behind, [&](const RecordKey& key) {
    const FileEntry* ours = found.index.find(key);
    const FileEntry* theirs = in_front.find(key);
    return ours != nullptr && theirs != nullptr && *ours == *theirs &&
           is_same_contents(vfs_, backup.file(key), next.file(key));
  });
  const bool is_same = behind.empty() && is_same_generation(found.index, in_front, behind);
  // The records of its catalog must go on rising. One that another program wrote, or that
  // went on by itself for long, is not brought up but moves on as it is.
  const std::uint64_t sequence_limit = in_front.sequence + (is_same ? 1 : 0);
  if (!found.end || found.index.sequence >= sequence_limit) return {};
  slots_[number - 1] =
      Slot{.index = std::move(found.index), .behind = std::move(behind), .erased = writer.erased()};
  return remember_catalog(number, writer.catalog_end());
}

Status Backups::remember_catalog(std::size_t number, const CatalogEnd& end) {
  Slot& slot = *slots_[number - 1];
  slot.catalog_end = end;
  VARVE_ASSIGN(slot.catalog_mark, mark_of_catalog(vfs_, layout(number)));
  return {};
}

// Takes over what differs in the one in front of it.
Result<std::uint64_t> Backups::bring_up(std::size_t number, const SaveIndex& target) {
  Slot& slot = *slots_[number - 1];
  const SaveLayout backup = layout(number);
  VARVE_ASSIGN(const auto lock, vfs_.lock_writer(backup.lock()));
  std::vector<IndexChange> changes;
  for (const RecordKey& key : slot.behind) {
    const FileEntry* wanted = target.find(key);
    if (is_same_file(wanted, slot.index.find(key))) continue;
    changes.push_back({key, wanted != nullptr ? std::optional(*wanted) : std::nullopt});
  }
  VARVE_ASSIGN(const CatalogMark mark, mark_of_catalog(vfs_, backup));
  if (mark != slot.catalog_mark) {
    return busy(
        fmt::format("{} was written by another program just now; try again", backup.root()));
  }
  VARVE_ASSIGN(auto catalog, CatalogFile::resume(vfs_, backup, slot.catalog_end));
  SaveWriter writer(vfs_, backup, slot.index.sequence, std::move(catalog), slot.erased);
  VARVE_TRY(writer.prepare(slot.index));
  VARVE_ASSIGN(const StagedFiles staged,
               writer.stage_links(layout(number - 1), std::move(changes), target.sequence));
  const std::uint64_t size_before = writer.catalog_end().offset;
  const SaveIndex before = slot.index;
  // From here on it may have happened: if something fails, look again.
  Slot next{.index = target};
  slots_[number - 1].reset();
  VARVE_TRY(writer.append(record_of(target, staged.changes), staged, before));
  writer.place(std::nullopt);
  VARVE_TRY(writer.finish_placing());
  next.erased = writer.erased();
  slots_[number - 1] = std::move(next);
  VARVE_TRY(remember_catalog(number, writer.catalog_end()));
  return writer.catalog_end().offset - size_before;
}

// A whole new backup, which takes its place when it is complete.
Result<std::uint64_t> Backups::make_anew(std::size_t number, std::uint32_t count,
                                         const SaveIndex& target) {
  const SaveLayout backup = layout(number);
  const SaveLayout from = layout(number - 1);
  const SaveLayout unfinished(backup.root() + std::string(kUnfinishedSuffix));
  VARVE_TRY(remove_leftover(vfs_, unfinished));
  VARVE_TRY(vfs_.create_dir(unfinished.root()));
  VARVE_TRY(make_folders(vfs_, unfinished));
  Status shared;
  target.visit([&](const RecordKey& key, const FileEntry&) {
    shared = share_file(vfs_, from.file(key), unfinished.file(key));
    // A file that is missing there is missing here, and reads as that.
    if (!shared && shared.error().code() == ErrorCode::not_found) shared = {};
    return shared.has_value();
  });
  VARVE_TRY(shared);
  for (const std::string_view folder : {"chunks", "players", "globals", ""}) {
    VARVE_TRY(vfs_.sync_dir(unfinished.in(folder)));
  }
  VARVE_ASSIGN(const auto catalog, CatalogFile::rewrite(vfs_, unfinished, target));
  VARVE_TRY(make_room(number, count));
  VARVE_TRY(rename_durably(vfs_, unfinished.root(), backup.root()));
  slots_[number - 1] = Slot{.index = target};
  trimmed_to_.reset();
  VARVE_TRY(remember_catalog(number, catalog.end()));
  return catalog.end().offset;
}

// Moves a backup that cannot be brought up, and those behind it, on by one. The last goes.
Status Backups::make_room(std::size_t number, std::uint32_t count) {
  std::size_t free = number;
  for (; free <= count; ++free) {
    VARVE_ASSIGN(const bool is_there, vfs_.exists(layout(free).root()));
    if (!is_there) break;
    // Whoever has it open keeps it.
    VARVE_ASSIGN(const auto lock, lock_backup(vfs_, layout(free)));
  }
  if (free > count) {
    free = count;
    VARVE_TRY(remove_whole_save(vfs_, layout(free)));
  }
  for (; free > number; --free) {
    slots_[free - 1].reset();
    // Durably, or the next to get its name could get it first, and this one would be gone.
    VARVE_TRY(rename_durably(vfs_, layout(free - 1).root(), layout(free).root()));
  }
  return {};
}

Status Backups::trim(std::uint32_t count) {
  if (trimmed_to_ == count) return {};
  VARVE_ASSIGN(const auto numbers, list_backups(vfs_, save_));
  for (const std::uint32_t number : numbers) {
    if (number <= count) continue;
    VARVE_ASSIGN(const bool is_ours, is_save(vfs_, layout(number)));
    if (!is_ours) continue;
    {
      // Whoever has it open keeps it.
      VARVE_ASSIGN(const auto lock, lock_save(vfs_, layout(number)));
    }
    VARVE_TRY(remove_whole_save(vfs_, layout(number)));
  }
  if (slots_.size() > count) slots_.resize(count);
  trimmed_to_ = count;
  return {};
}

}  // namespace varve::nebula
