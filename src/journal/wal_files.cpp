#include "journal/wal_files.h"

#include "base/try.h"
#include "io/atomic_replace.h"
#include "io/path.h"

namespace varve::journal {

std::string WalFiles::path(std::string_view name) const { return path_join(dir_, name); }

Status WalFiles::make_folder() const {
  VARVE_ASSIGN(const bool is_there, vfs_.exists(dir_));
  VARVE_TRY(vfs_.create_dir(dir_));
  if (is_there) return {};
  Status synced = vfs_.sync_dir(path_parent(dir_));
  // Only making it anew can make its name durable then.
  if (!synced) (void)vfs_.remove_dir(dir_);
  return synced;
}

Result<std::vector<std::uint64_t>> WalFiles::list() const {
  VARVE_ASSIGN(const std::vector<DirEntry> entries, vfs_.list(dir_));
  std::vector<std::uint64_t> ids;
  // Sorted by name, which is by number: all have as many digits.
  for (const DirEntry& entry : entries) {
    if (entry.kind != FileKind::file) continue;
    if (const auto id = parse_segment_name(entry.name)) ids.push_back(*id);
  }
  return ids;
}

Result<std::optional<Mark>> WalFiles::read_mark() const {
  const auto file = vfs_.open(mark_path(), OpenMode::read);
  if (!file && file.error().code() == ErrorCode::not_found) return std::nullopt;
  if (!file) return file.error();
  VARVE_ASSIGN(const Bytes contents, (*file)->read_all(kAlignmentMax));
  auto mark = decode_mark(contents);
  if (!mark) return mark.error().with_context(mark_path());
  return *mark;
}

Status WalFiles::write_mark(const Mark& mark) const {
  return atomic_replace(vfs_, mark_path(), encode_mark(mark));
}

Result<std::unique_ptr<File>> WalFiles::make_spare(std::uint64_t size) const {
  (void)vfs_.remove(spare_path());
  VARVE_ASSIGN(auto file, vfs_.open(spare_path(), OpenMode::create_new));
  VARVE_TRY(file->extend_written(size));
  VARVE_TRY(file->sync_data());
  return file;
}

Result<std::unique_ptr<File>> WalFiles::recycle(std::uint64_t id, std::uint64_t size_max) const {
  (void)vfs_.remove(spare_path());
  VARVE_TRY(vfs_.rename(segment_path(id), spare_path()));
  // Before a byte of it is changed: under its old name it must not come back as another.
  VARVE_TRY(vfs_.sync_dir(dir_));
  VARVE_ASSIGN(auto file, vfs_.open(spare_path(), OpenMode::write));
  VARVE_ASSIGN(const std::uint64_t size, file->size());
  if (size > size_max) VARVE_TRY(file->truncate(size_max));
  return file;
}

Result<std::unique_ptr<File>> WalFiles::make_newborn() const {
  (void)vfs_.remove(newborn_path());
  return vfs_.open(newborn_path(), OpenMode::create_new);
}

void WalFiles::remove_temporaries() const {
  // What a crash left: bytes in them may bear the number of the next segment, so that they are not
  // used as they are. If this fails, making one of that name does it again.
  (void)vfs_.remove(spare_path());
  (void)vfs_.remove(newborn_path());
}

}  // namespace varve::journal
