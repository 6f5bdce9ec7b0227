#include "contract/one_file_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/guarded.h"
#include "base/try.h"
#include "contract/one_file_codec.h"
#include "io/atomic_replace.h"
#include "io/path.h"

namespace varve::test {
namespace {

constexpr std::uint64_t kFileSizeMax = std::uint64_t{1} << 32;
// More than a person would keep; a file further on is none of ours.
constexpr std::uint32_t kBackupCountMax = 100;

std::string_view without_scheme(std::string_view path) {
  constexpr std::string_view kScheme = "onefile:";
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  return path;
}

Result<std::unique_ptr<WriterLock>> lock(Vfs& vfs, std::string_view path) {
  return vfs.lock_writer(std::string(path) + ".lock");
}

Status remove_if_there(Vfs& vfs, std::string_view path) {
  Status removed = vfs.remove(path);
  if (!removed && removed.error().code() == ErrorCode::not_found) return {};
  return removed;
}

Status rename_if_there(Vfs& vfs, std::string_view from, std::string_view to) {
  VARVE_ASSIGN(const bool is_there, vfs.exists(from));
  if (!is_there) return {};
  return vfs.rename(from, to);
}

// The numbers of the backups there are, sorted.
Result<std::vector<std::uint32_t>> backups_of(Vfs& vfs, std::string_view path) {
  VARVE_ASSIGN(const auto entries, vfs.list(path_parent(path)));
  std::vector<std::uint32_t> numbers;
  for (const DirEntry& entry : entries) {
    for (std::uint32_t number = 1; number <= kBackupCountMax; ++number) {
      if (entry.name == path_name(OneFileStore::backup_path(path, number))) {
        numbers.push_back(number);
      }
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Status remove_backups(Vfs& vfs, std::string_view path, std::uint32_t kept_count) {
  VARVE_ASSIGN(const auto numbers, backups_of(vfs, path));
  for (const std::uint32_t number : numbers) {
    if (number > kept_count) {
      VARVE_TRY(remove_if_there(vfs, OneFileStore::backup_path(path, number)));
    }
  }
  return {};
}

}  // namespace

OneFileStore::OneFileStore(Vfs& vfs, std::string_view path, Capabilities can, SharedTables tables,
                           std::unique_ptr<WriterLock> lock)
    : TablesStore(std::string(path), std::move(can), std::move(tables)),
      vfs_(vfs),
      lock_(std::move(lock)) {}

Capabilities OneFileStore::everything() {
  Capabilities can;
  can.format = "onefile";
  return can;
}

Result<std::unique_ptr<Store>> OneFileStore::open_or_create(Vfs& vfs, std::string_view path) {
  auto store = open(vfs, path);
  if (store || store.error().code() != ErrorCode::not_found) return store;
  return create(vfs, path);
}

std::string OneFileStore::backup_path(std::string_view path, std::uint32_t number) {
  return number == 1 ? fmt::format("{}.backup", path) : fmt::format("{}.backup.{}", path, number);
}

Result<std::unique_ptr<Store>> OneFileStore::open(Vfs& vfs, std::string_view path,
                                                  Capabilities can) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    // Before the lock, which would leave a file beside nothing.
    VARVE_ASSIGN(const bool is_there, vfs.exists(path));
    if (!is_there) return not_found(fmt::format("there is no save at {}", path));
    VARVE_ASSIGN(auto held, lock(vfs, path));
    VARVE_ASSIGN(const auto file, vfs.open(path, OpenMode::read));
    VARVE_ASSIGN(const Bytes contents, file->read_all(kFileSizeMax));
    VARVE_ASSIGN(SharedTables tables, decode_one_file(contents, path));
    return std::make_unique<OneFileStore>(vfs, path, std::move(can), std::move(tables),
                                          std::move(held));
  });
}

Result<std::unique_ptr<Store>> OneFileStore::create(Vfs& vfs, std::string_view path,
                                                    Capabilities can) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    VARVE_ASSIGN(auto held, lock(vfs, path));
    VARVE_ASSIGN(const bool is_there, vfs.exists(path));
    if (is_there) {
      return invalid_argument(
          fmt::format("{} exists already; open it, remove it or choose another path", path));
    }
    auto tables = std::make_shared<const RecordTables>();
    VARVE_TRY(atomic_replace(vfs, path, encode_one_file(*tables)));
    return std::make_unique<OneFileStore>(vfs, path, std::move(can), std::move(tables),
                                          std::move(held));
  });
}

Result<std::uint64_t> OneFileStore::publish(const Publication& p) {
  VARVE_ASSIGN(const bool is_there, vfs_.exists(path()));
  if (!is_there) {
    return io_error(fmt::format(
        "the save at {} is gone: somebody removed or renamed it while it was open. Nothing in "
        "memory is lost; save it somewhere else",
        path()));
  }
  std::uint64_t written_size = 0;
  if (p.commit.backup_count.value_or(0) > 0) {
    VARVE_ASSIGN(written_size, back_up(*p.before, *p.commit.backup_count));
  }
  const Bytes contents = encode_one_file(*p.next);
  p.progress.report(0.75);
  if (p.progress.is_cancelled()) return cancelled("the commit was cancelled");
  // If this fails after its rename, the file may be the new one or the old one. Both are
  // whole, and the next commit writes all of it again.
  VARVE_TRY(atomic_replace(vfs_, path(), contents));
  if (p.commit.backup_count) {
    // The commit is durable; a backup too many is removed by the next one.
    (void)remove_backups(vfs_, path(), *p.commit.backup_count);
  }
  return written_size + contents.size();
}

// Pushes the backups on by one and makes `tables` the newest. The save is not touched.
Result<std::uint64_t> OneFileStore::back_up(const RecordTables& tables, std::uint32_t count) {
  if (backed_up_generation_ == tables.generation) return 0;
  if (rotated_for_generation_ != tables.generation) {
    VARVE_ASSIGN(const auto numbers, backups_of(vfs_, path()));
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
      if (*number >= std::min(count, kBackupCountMax)) continue;
      VARVE_TRY(vfs_.rename(backup_path(path(), *number), backup_path(path(), *number + 1)));
    }
    rotated_for_generation_ = tables.generation;
  }
  const Bytes contents = encode_one_file(tables);
  VARVE_TRY(atomic_replace(vfs_, backup_path(path(), 1), contents));
  backed_up_generation_ = tables.generation;
  return contents.size();
}

Status OneFileStore::release() {
  lock_.reset();
  return {};
}

Result<bool> OneFileFormat::detect(std::string_view path) const {
  path = without_scheme(path);
  const auto info = vfs_.info(path);
  if (!info && info.error().code() == ErrorCode::not_found) return false;
  if (!info) return info.error();
  if (info->kind != FileKind::file) return false;
  VARVE_ASSIGN(const auto file, vfs_.open(path, OpenMode::read));
  std::string magic(kOneFileMagic.size(), '\0');
  VARVE_ASSIGN(const std::size_t size, file->read_at(0, std::as_writable_bytes(std::span(magic))));
  return size == magic.size() && magic == kOneFileMagic;
}

Result<std::unique_ptr<Store>> OneFileFormat::open(std::string_view path) const {
  return OneFileStore::open(vfs_, without_scheme(path), can_);
}

Result<std::unique_ptr<Store>> OneFileFormat::create(std::string_view path) const {
  return OneFileStore::create(vfs_, without_scheme(path), can_);
}

Status OneFileFormat::rename(std::string_view from, std::string_view to) const {
  from = without_scheme(from);
  to = without_scheme(to);
  VARVE_ASSIGN(const bool is_there, vfs_.exists(from));
  if (!is_there) return not_found(fmt::format("there is no save at {}", from));
  VARVE_ASSIGN(const auto from_lock, lock(vfs_, from));
  VARVE_ASSIGN(const auto to_lock, lock(vfs_, to));
  VARVE_ASSIGN(const bool taken, vfs_.exists(to));
  if (taken) return invalid_argument(fmt::format("{} exists already; choose another path", to));
  VARVE_TRY(vfs_.rename(from, to));
  VARVE_ASSIGN(const auto numbers, backups_of(vfs_, from));
  for (const std::uint32_t number : numbers) {
    VARVE_TRY(rename_if_there(vfs_, OneFileStore::backup_path(from, number),
                              OneFileStore::backup_path(to, number)));
  }
  VARVE_TRY(vfs_.sync_dir(path_parent(from)));
  return vfs_.sync_dir(path_parent(to));
}

Status OneFileFormat::remove(std::string_view path) const {
  path = without_scheme(path);
  VARVE_ASSIGN(const bool is_there, vfs_.exists(path));
  if (!is_there) return {};
  VARVE_ASSIGN(const auto held, lock(vfs_, path));
  VARVE_TRY(remove_backups(vfs_, path, 0));
  VARVE_TRY(remove_if_there(vfs_, path));
  return vfs_.sync_dir(path_parent(path));
}

}  // namespace varve::test
