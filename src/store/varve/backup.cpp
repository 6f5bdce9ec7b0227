#include "store/varve/backup.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "store/save_folder.h"
#include "store/varve/backup_copy.h"
#include "store/varve/varve_format.h"

namespace varve {
namespace {

log::LogOptions with_durability(log::LogOptions log, Durability::Kind kind) {
  log.user.durability.kind = kind;
  return log;
}

std::string root_of(std::string_view path) {
  constexpr std::string_view kScheme = "varve:";
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

Status check_name(const std::string& root) {
  if (root.empty()) return invalid_argument("the path is empty");
  for (const std::string_view suffix : {kUnfinishedBackupSuffix, kReplacedBackupSuffix,
                                        kUnfinishedRestoreSuffix, kBeforeRestoreSuffix}) {
    if (!root.ends_with(suffix)) continue;
    return invalid_argument(fmt::format(
        "{}: names that end in {} are for what is under way; choose another", root, suffix));
  }
  return {};
}

// Where a link leads: what takes the place of a save must not take that of a link to it.
Result<std::string> behind_link(Vfs& vfs, std::string root) {
  VARVE_ASSIGN(const bool is_there, vfs.exists(root));
  if (!is_there) return root;
  VARVE_ASSIGN(const std::string parent, vfs.resolve(path_parent(root)));
  VARVE_ASSIGN(std::string resolved, vfs.resolve(root));
  return resolved == path_join(parent, path_name(root)) ? root : resolved;
}

Status check_apart(Vfs& vfs, const std::string& root, const std::string& source) {
  VARVE_ASSIGN(const std::string to, vfs.resolve(root));
  VARVE_ASSIGN(const std::string from, vfs.resolve(root_of(source)));
  if (to == from) {
    return invalid_argument(fmt::format("{} cannot be its own backup; choose another path", root));
  }
  if (to.starts_with(from + '/')) {
    return invalid_argument(
        fmt::format("{} lies in the save it would be a backup of, and would go with it; choose "
                    "another path",
                    root));
  }
  return {};
}

// Records that are lost as a whole look like ones that were erased. So nothing is copied from a
// save that lost some: they may be in no other place than what would lose them, too.
Status check_complete(const BackupSource& source, std::string_view advice) {
  if (!source.loss) return {};
  return corruption(fmt::format(
      "{}; since it may lack what it once had, nothing was copied: {}, or copy what can still be "
      "read with `varve convert --lossy`",
      source.loss->message(), advice));
}

VarveStore& as_varve(Store& store) { return static_cast<VarveStore&>(store); }

// A save written whole at a path of its own, closed and durable; or nothing there.
Status make_copy(const BackupDisk& disk, const std::string& path, BackupCopy& copy) {
  VARVE_TRY(disk.copies().remove(path));
  VARVE_ASSIGN(const auto store, disk.copies().create(path));
  Status copied = copy.copy_all(as_varve(*store).backend());
  const Status closed = store->close();
  if (copied) copied = closed;
  if (!copied) (void)disk.copies().remove(path);
  return copied;
}

class TargetUpdate {
 public:
  TargetUpdate(const BackupSource& source, std::string root, NewerTarget newer,
               const BackupDisk& disk, BackupCopy& copy)
      : source_(source),
        newer_(newer),
        root_(std::move(root)),
        unfinished_(root_ + std::string(kUnfinishedBackupSuffix)),
        replaced_(root_ + std::string(kReplacedBackupSuffix)),
        disk_(disk),
        copy_(copy) {}

  Status run() {
    VARVE_TRY(settle());
    VARVE_ASSIGN(const bool is_there, disk_.vfs().exists(root_));
    return is_there ? update() : create();
  }

 private:
  // What a call left that was cut short: by a crash between two renames, or by the death of its
  // process behind a rename that nobody made durable. Were the old backup removed while that is
  // so, a crash could leave neither.
  Status settle() {
    VARVE_ASSIGN(const bool was_replaced, disk_.vfs().exists(replaced_));
    VARVE_ASSIGN(const bool is_unfinished, disk_.vfs().exists(unfinished_));
    if (!was_replaced && !is_unfinished) return {};
    VARVE_TRY(disk_.vfs().sync_dir(path_parent(root_)));
    if (was_replaced) {
      VARVE_ASSIGN(const bool is_there, disk_.vfs().exists(root_));
      VARVE_TRY(is_there ? disk_.saves().remove(replaced_)
                         : rename_durably(disk_.vfs(), replaced_, root_));
    }
    return disk_.copies().remove(unfinished_);
  }

  Status create() {
    VARVE_TRY(make_copy(disk_, unfinished_, copy_));
    Status named = disk_.saves().rename(unfinished_, root_);
    if (!named) (void)disk_.saves().remove(unfinished_);
    return named;
  }

  Status update() {
    VARVE_ASSIGN(const bool is_save, disk_.saves().detect(root_));
    if (!is_save) {
      return invalid_argument(
          fmt::format("{} is there and is no varve save; choose another path", root_));
    }
    // Looked at first, so that what is refused is not touched.
    {
      VARVE_ASSIGN(const auto shown, disk_.saves().open_to_read(root_));
      VARVE_TRY(check_target(as_varve(*shown)));
      VARVE_TRY(shown->close());
    }
    // From here on nobody else writes it.
    VARVE_ASSIGN(const auto target, disk_.saves().open(root_));
    const Result<bool> updated = update_in_place(as_varve(*target));
    Status copied = updated ? Status() : updated.error();
    if (updated && !*updated) copied = make_copy(disk_, unfinished_, copy_);
    const Status closed = target->close();
    VARVE_TRY(copied);
    VARVE_TRY(closed);
    return *updated ? Status() : swap_in();
  }

  Result<bool> update_in_place(VarveStore& target) {
    VARVE_TRY(check_target(target));
    return copy_.copy_changes(target.backend());
  }

  Status check_target(const VarveStore& target) const {
    VARVE_ASSIGN(const auto view, target.pin_view());
    const SaveHeader& theirs = view->header();
    const SaveHeader& ours = source_.view->header();
    if (theirs.save_id != ours.save_id) {
      return invalid_argument(fmt::format(
          "{} is no backup of {}, but another save; choose another path", root_, source_.path));
    }
    if (theirs.generation > ours.generation && newer_ == NewerTarget::refuse) {
      return invalid_argument(fmt::format(
          "{} holds generation {}, which is newer than generation {} of {}; choose another path",
          root_, theirs.generation, ours.generation, source_.path));
    }
    return {};
  }

  // The copy takes the name of the old backup, which then goes.
  Status swap_in() {
    Vfs& vfs = disk_.vfs();
    Status swapped = vfs.exchange(unfinished_, root_);
    if (!swapped && swapped.error().code() == ErrorCode::unsupported) return rename_in();
    if (swapped) swapped = vfs.sync_dir(path_parent(root_));
    if (!swapped) {
      // Nobody knows which of them a crash would leave here. Both are whole, and both stay.
      (void)vfs.exchange(unfinished_, root_);
      return swapped;
    }
    // The backup is made; what is left of the old one goes with the next if not now.
    (void)disk_.saves().remove(unfinished_);
    return {};
  }

  Status rename_in() {
    Vfs& vfs = disk_.vfs();
    VARVE_TRY(rename_durably(vfs, root_, replaced_));
    Status named = rename_durably(vfs, unfinished_, root_);
    if (!named) {
      (void)rename_durably(vfs, replaced_, root_);
      return named;
    }
    (void)disk_.saves().remove(replaced_);
    return {};
  }

  const BackupSource& source_;
  const NewerTarget newer_;
  const std::string root_;
  const std::string unfinished_;
  const std::string replaced_;
  const BackupDisk& disk_;
  BackupCopy& copy_;
};

// Whether the save at `root` may be moved: it is one, and nobody has it open to write.
Status check_replaceable(const BackupDisk& disk, const std::string& root, const std::string& kept) {
  VARVE_ASSIGN(const bool is_save, disk.saves().detect(root));
  if (!is_save) {
    return invalid_argument(
        fmt::format("{} is there and is no varve save; move it away or choose another path", root));
  }
  VARVE_ASSIGN(const bool is_taken, disk.vfs().exists(kept));
  if (is_taken) {
    return invalid_argument(
        fmt::format("{} is there already, where {} would be kept; move it away first", kept, root));
  }
  return check_save_closed(disk.vfs(), root);
}

}  // namespace

BackupDisk::BackupDisk(Vfs& vfs, const log::LogOptions& log) : BackupDisk(vfs, log, Limits{}) {}

BackupDisk::BackupDisk(Vfs& vfs, const log::LogOptions& log, const Limits& limits)
    : vfs_(vfs),
      saves_(make_varve_format(vfs, "varve", SaveBackend::file, {},
                               with_durability(log, Durability::Kind::every_commit))),
      copies_(make_varve_format(vfs, "varve", SaveBackend::file, {},
                                with_durability(log, Durability::Kind::none))),
      limits_(limits) {}

std::optional<std::uint64_t> read_save_id(const Format& saves, const std::string& path) {
  const auto save = saves.open_to_read(path);
  const auto* varve = save ? dynamic_cast<const VarveStore*>(save->get()) : nullptr;
  if (varve == nullptr) return std::nullopt;
  const auto view = varve->pin_view();
  return view ? std::optional((*view)->header().save_id) : std::nullopt;
}

Result<BackupSource> pin_for_backup(const Store& store) {
  const auto* varve = dynamic_cast<const VarveStore*>(&store);
  if (varve == nullptr) {
    return unsupported(
        fmt::format("only saves of the varve format can be backed up while they are written; this "
                    "one is of the format {}: save_to() and `varve convert` copy it",
                    store.capabilities().format));
  }
  VARVE_ASSIGN(auto view, varve->pin_view());
  std::optional<Error> loss = varve->loss();
  // A space whose record is damaged, and not lost, is named when it is copied.
  if (!loss && !view->tables().has_lost_space()) {
    const RecordReader reader(view->snapshot(), view->tables(), true);
    const Status placed = reader.check_chunks_are_somewhere();
    if (!placed && placed.error().code() != ErrorCode::corruption) return placed.error();
    if (!placed) loss = placed.error().with_context(varve->path());
  }
  const BackendStats stats = varve->backend().stats();
  return BackupSource{std::move(view), varve->path(), stats.entry_count, stats.live_size,
                      std::move(loss)};
}

Result<BackupReport> back_up(const BackupSource& source, std::string_view target,
                             const BackupOptions& options, Progress& progress,
                             const BackupDisk& disk, NewerTarget newer) {
  return or_out_of_memory([&]() -> Result<BackupReport> {
    VARVE_TRY(check_name(root_of(target)));
    VARVE_ASSIGN(std::string root, behind_link(disk.vfs(), root_of(target)));
    VARVE_TRY(check_apart(disk.vfs(), root, source.path));
    VARVE_TRY(check_complete(source, "bring an older backup back"));
    BackupCopy copy(source, options, disk.limits(), progress);
    VARVE_TRY(TargetUpdate(source, std::move(root), newer, disk, copy).run());
    progress.report(1);
    return copy.report();
  });
}

Result<BackupReport> restore_backup(std::string_view backup, std::string_view save,
                                    Progress& progress, const BackupDisk& disk) {
  return or_out_of_memory([&]() -> Result<BackupReport> {
    Vfs& vfs = disk.vfs();
    VARVE_TRY(check_name(root_of(save)));
    VARVE_ASSIGN(const std::string root, behind_link(vfs, root_of(save)));
    std::string from = root_of(backup);
    VARVE_TRY(check_apart(vfs, root, from));
    VARVE_ASSIGN(const bool has_backup, vfs.exists(from));
    // A crash while it was replaced may have left it under that name.
    if (!has_backup) {
      VARVE_ASSIGN(const bool is_aside, vfs.exists(from + std::string(kReplacedBackupSuffix)));
      if (is_aside) from += kReplacedBackupSuffix;
    }
    const std::string kept = root + std::string(kBeforeRestoreSuffix);
    VARVE_ASSIGN(const bool is_there, vfs.exists(root));
    if (is_there) VARVE_TRY(check_replaceable(disk, root, kept));

    VARVE_ASSIGN(const auto store, disk.saves().open_to_read(from));
    const std::string unfinished = root + std::string(kUnfinishedRestoreSuffix);
    BackupReport report;
    {
      VARVE_ASSIGN(const BackupSource source, pin_for_backup(*store));
      VARVE_TRY(check_complete(source, "take another backup"));
      BackupCopy copy(source, {}, disk.limits(), progress);
      VARVE_TRY(make_copy(disk, unfinished, copy));
      report = copy.report();
    }
    VARVE_TRY(store->close());
    if (is_there) {
      // The save alone: its backups, one of which may be the source, stay what they are called.
      const Status moved = rename_durably(vfs, root, kept);
      if (!moved) {
        (void)disk.saves().remove(unfinished);
        return moved.error();
      }
    }
    VARVE_TRY(disk.saves().rename(unfinished, root));
    progress.report(1);
    return report;
  });
}

// --- On the real disk ----------------------------------------------------------------

Result<BackupReport> back_up(const Store& source, std::string_view target,
                             const BackupOptions& options, Progress& progress) {
  return or_out_of_memory([&]() -> Result<BackupReport> {
    VARVE_ASSIGN(const BackupSource held, pin_for_backup(source));
    return back_up(held, target, options, progress, BackupDisk(posix_vfs()));
  });
}

Result<BackupReport> restore_backup(std::string_view backup, std::string_view save,
                                    Progress& progress) {
  return or_out_of_memory([&]() -> Result<BackupReport> {
    return restore_backup(backup, save, progress, BackupDisk(posix_vfs()));
  });
}

}  // namespace varve
