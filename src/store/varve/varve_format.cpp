#include "store/varve/varve_format.h"

#include <fmt/format.h>

#include <array>
#include <random>

#include "backend/log/log_backend.h"
#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "store/save_folder.h"
#include "store/varve/save_backups.h"
#include "store/varve/varve_store.h"

namespace varve {
namespace {

// By it a save is known. What is in it is for people.
constexpr std::string_view kMarkName = "varve.save";
constexpr std::string_view kLmdbFolder = "lmdb";
constexpr std::string_view kLmdbFile = "data.mdb";

std::string without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

std::uint64_t new_save_id() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Status write_durably(Vfs& vfs, const std::string& path, std::string_view text) {
  VARVE_ASSIGN(const auto file, vfs.open(path, OpenMode::create_new));
  VARVE_TRY(file->write_at(0, as_byte_view(text)));
  VARVE_TRY(file->sync_data());
  return file->close();
}

std::string folder_of(const std::string& root, SaveBackend backend) {
  return path_join(root, backend == SaveBackend::file ? kLogFolder : kLmdbFolder);
}

std::string lock_path(const std::string& root, SaveBackend backend) {
  return path_join(folder_of(root, backend), backend == SaveBackend::file ? "lock" : "writer.lock");
}

// The folder that is there says which it is. Nullopt if there is none.
Result<std::optional<SaveBackend>> find_backend(Vfs& vfs, const std::string& root) {
  for (const SaveBackend backend : {SaveBackend::file, SaveBackend::lmdb}) {
    VARVE_ASSIGN(const bool is_there, vfs.exists(folder_of(root, backend)));
    if (is_there) return std::optional(backend);
  }
  return std::nullopt;
}

class VarveFormat final : public Format {
 public:
  VarveFormat(Vfs& vfs, std::string name, SaveBackend backend, VarveOptions options,
              std::optional<log::LogOptions> log)
      : vfs_(vfs),
        name_(std::move(name)),
        backend_(backend),
        options_(options),
        log_(log ? *std::move(log)
                 : log::LogOptions{.user = options.file, .traits = log::file_backend_traits()}) {}

  std::string_view name() const override { return name_; }

  Result<bool> detect(std::string_view path) const override {
    return or_out_of_memory([&]() -> Result<bool> { return is_save(root_of(path)); });
  }
  Result<std::unique_ptr<Store>> open(std::string_view path) const override {
    return or_out_of_memory([&] { return open_as(root_of(path), true); });
  }
  Result<std::unique_ptr<Store>> open_to_read(std::string_view path) const override {
    return or_out_of_memory([&] { return open_as(root_of(path), false); });
  }
  Result<std::unique_ptr<Store>> create(std::string_view path) const override {
    return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
      const std::string root = root_of(path);
      VARVE_TRY(create_save(root));
      return open_as(root, true, true);
    });
  }
  Status rename(std::string_view from, std::string_view to) const override {
    return or_out_of_memory([&] { return rename_save(root_of(from), root_of(to)); });
  }
  Status remove(std::string_view path) const override {
    return or_out_of_memory([&] { return remove_save(root_of(path)); });
  }

 private:
  std::string root_of(std::string_view path) const {
    if (path.starts_with(name_) && path.substr(name_.size()).starts_with(':')) {
      path.remove_prefix(name_.size() + 1);
    }
    return without_trailing_slashes(path);
  }
  Result<bool> is_save(const std::string& root) const {
    return vfs_.exists(path_join(root, kMarkName));
  }
  Result<std::unique_ptr<Backend>> open_backend(const std::string& root, SaveBackend backend,
                                                bool writes) const;
  // A save has one before it has its name. Opening LMDB to write would make one with nothing in it.
  Status must_have_lmdb_file(const std::string& root, SaveBackend kind) const;
  Result<std::unique_ptr<Store>> open_as(const std::string& root, bool writes,
                                         bool has_durable_name = false) const;
  Status must_be_free(const std::string& root) const;
  // Whether there is a save at `path` that is not another one for sure.
  Result<bool> is_backup_of(const std::string& root, const std::string& path) const {
    VARVE_ASSIGN(const bool is_there, is_save(path));
    if (!is_there) return false;
    const auto ours = read_save_id(*this, root);
    const auto theirs = read_save_id(*this, path);
    return !ours || !theirs || *ours == *theirs;
  }
  Status create_save(const std::string& root) const;
  Status rename_save(const std::string& from, const std::string& to) const;
  Status remove_save(const std::string& root) const;

  Vfs& vfs_;
  const std::string name_;
  const SaveBackend backend_;
  const VarveOptions options_;
  const log::LogOptions log_;
};

Result<std::unique_ptr<Backend>> VarveFormat::open_backend(const std::string& root,
                                                           SaveBackend backend, bool writes) const {
  const std::string folder = folder_of(root, backend);
  if (backend == SaveBackend::lmdb) {
    // LMDB has its own way to the disk, which is the real one.
    const LmdbBackendOptions options{.durability = options_.file.durability};
    return writes ? open_lmdb_backend(folder, options) : open_lmdb_backend_to_read(folder, options);
  }
  return writes ? log::open_log(vfs_, folder, log_) : log::open_log_to_read(vfs_, folder, log_);
}

Status VarveFormat::must_have_lmdb_file(const std::string& root, SaveBackend kind) const {
  if (kind != SaveBackend::lmdb) return {};
  const std::string path = path_join(folder_of(root, kind), kLmdbFile);
  VARVE_ASSIGN(const bool is_there, vfs_.exists(path));
  if (is_there) return {};
  return corruption(fmt::format(
      "{} is missing, and every record of the save with it; bring back a backup", path));
}

Result<std::unique_ptr<Store>> VarveFormat::open_as(const std::string& root, bool writes,
                                                    bool has_durable_name) const {
  VARVE_ASSIGN(const bool is_there, is_save(root));
  if (!is_there) return not_found(fmt::format("there is no save at {}", root));
  VARVE_ASSIGN(const auto kind, find_backend(vfs_, root));
  if (!kind) {
    return corruption(fmt::format("{}: this is a varve save, but neither {} nor {} is in it", root,
                                  kLogFolder, kLmdbFolder));
  }
  VARVE_TRY(must_have_lmdb_file(root, *kind));
  // Whoever gave it its name may have died before that was durable. No commit is safe in a save
  // that a crash could leave without a name.
  if (writes && !has_durable_name) VARVE_TRY(vfs_.sync_dir(path_parent(root)));
  VARVE_ASSIGN(auto backend, open_backend(root, *kind, writes));
  return VarveStore::open({.path = root,
                           .format = name_,
                           .backend = std::move(backend),
                           .options = options_,
                           .can_write = writes,
                           .backups = std::make_shared<SaveBackups>(vfs_, log_, root)});
}

Status VarveFormat::must_be_free(const std::string& root) const {
  VARVE_ASSIGN(const bool is_there, vfs_.exists(root));
  if (is_there) {
    return invalid_argument(
        fmt::format("{} exists already; open it, remove it or choose another path", root));
  }
  // A new world would take these for its own, and rotate away all that is left of another. And
  // where bringing a backup back was cut short, what was there before has no other name.
  VARVE_ASSIGN(const bool is_restoring, is_save(root + std::string(kUnfinishedRestoreSuffix)));
  for (const std::string& left : {backup_path(root, 1), rotating_backup_path(root),
                                  root + std::string(kBeforeRestoreSuffix)}) {
    VARVE_ASSIGN(const bool is_left, is_save(left));
    if (!is_left || (left.ends_with(kBeforeRestoreSuffix) && !is_restoring)) continue;
    return invalid_argument(
        fmt::format("there is no save at {}, but {} is there, which was one; rename that to bring "
                    "it back, or move it away to begin anew",
                    root, left));
  }
  return {};
}

Status VarveFormat::create_save(const std::string& root) const {
  VARVE_TRY(must_be_free(root));
  // Complete before it has its name, so that a crash leaves a save or nothing.
  const std::string unfinished = root + std::string(kUnfinishedSuffix);
  VARVE_TRY(remove_leftover(vfs_, unfinished, lock_path(unfinished, backend_)));
  VARVE_TRY(vfs_.create_dir(unfinished));
  VARVE_TRY(
      write_durably(vfs_, path_join(unfinished, kMarkName),
                    "A game world, kept by Varve. Its program `varve` shows what is in it.\n"));
  VARVE_ASSIGN(const auto backend, open_backend(unfinished, backend_, true));
  VARVE_TRY(VarveStore::create(*backend, new_save_id()));
  VARVE_TRY(vfs_.sync_dir(unfinished));
  VARVE_TRY(backend->close());
  VARVE_TRY(must_be_free(root));
  return rename_durably(vfs_, unfinished, root);
}

Status VarveFormat::rename_save(const std::string& from, const std::string& to) const {
  VARVE_ASSIGN(const bool is_there, is_save(from));
  if (!is_there) return not_found(fmt::format("there is no save at {}", from));
  VARVE_TRY(check_save_closed(vfs_, from));
  VARVE_TRY(finish_backup_rotation(vfs_, from));
  // The save comes last: what was interrupted can be done again.
  std::vector<std::pair<std::string, std::string>> moves;
  VARVE_ASSIGN(const auto numbers, list_backups(vfs_, from));
  for (const std::uint32_t number : numbers) {
    VARVE_ASSIGN(const bool is_ours, is_backup_of(from, backup_path(from, number)));
    if (is_ours) moves.emplace_back(backup_path(from, number), backup_path(to, number));
  }
  moves.emplace_back(from, to);
  for (const auto& [old_path, new_path] : moves) {
    VARVE_TRY(check_save_closed(vfs_, old_path));
    VARVE_ASSIGN(const bool is_taken, vfs_.exists(new_path));
    if (is_taken) {
      return invalid_argument(fmt::format("{} exists already; choose another path", new_path));
    }
  }
  for (const auto& [old_path, new_path] : moves) {
    // There first: on its way it may have two names, never none.
    VARVE_TRY(rename_durably(vfs_, old_path, new_path));
  }
  if (path_parent(from) == path_parent(to)) return {};
  return vfs_.sync_dir(path_parent(from));
}

Status VarveFormat::remove_save(const std::string& root) const {
  const std::string going = root + std::string(kRemovingSuffix);
  VARVE_ASSIGN(const bool is_there, is_save(root));
  // One that was interrupted goes too.
  if (!is_there) return remove_leftover(vfs_, going, lock_path(going, backend_));
  VARVE_TRY(check_save_closed(vfs_, root));
  VARVE_TRY(finish_backup_rotation(vfs_, root));
  VARVE_ASSIGN(const auto numbers, list_backups(vfs_, root));
  for (const std::uint32_t number : numbers) {
    const std::string backup = backup_path(root, number);
    VARVE_ASSIGN(const bool is_ours, is_backup_of(root, backup));
    if (is_ours) VARVE_TRY(remove_save(backup));
  }
  VARVE_TRY(remove_folder_save(vfs_, root, lock_path(going, backend_)));
  return vfs_.sync_dir(path_parent(root));
}

}  // namespace

Status check_save_closed(Vfs& vfs, const std::string& root) {
  VARVE_ASSIGN(const auto backend, find_backend(vfs, root));
  if (!backend) return {};
  VARVE_ASSIGN(const auto lock, vfs.lock_writer(lock_path(root, *backend)));
  return {};
}

std::unique_ptr<const Format> make_varve_format(Vfs& vfs, std::string name, SaveBackend backend,
                                                VarveOptions options,
                                                std::optional<log::LogOptions> log) {
  return std::make_unique<VarveFormat>(vfs, std::move(name), backend, options, std::move(log));
}

std::unique_ptr<const Format> make_varve_format(std::string name, const VarveOptions& options) {
  return make_varve_format(posix_vfs(), std::move(name), SaveBackend::file, options);
}

}  // namespace varve
