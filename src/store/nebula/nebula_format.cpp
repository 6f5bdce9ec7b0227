// Finding, making, moving and removing saves of the nebula format.
#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "store/nebula/nebula_store.h"
#include "store/nebula/save_files.h"
#include "store/nebula/save_opening.h"
#include "store/save_folder.h"
#include "varve/checksum.h"
#include "varve/format.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kName = "nebula";

std::string_view without_scheme(std::string_view path) {
  if (path.starts_with(kName) && path.substr(kName.size()).starts_with(':')) {
    path.remove_prefix(kName.size() + 1);
  }
  return path;
}

Status write_durably(Vfs& vfs, const std::string& path, ByteView contents) {
  VARVE_ASSIGN(const auto file, vfs.open(path, OpenMode::create_new));
  VARVE_TRY(file->write_at(0, contents));
  VARVE_TRY(file->sync_data());
  return file->close();
}

// The files the format's own program demands, with nothing in them.
Result<SaveIndex> write_empty_save(Vfs& vfs, const SaveLayout& layout) {
  // Not the name of the directory, which may not be the last it has.
  VARVE_ASSIGN(const std::string meta, encode_meta({.display_name = "World"}));
  VARVE_ASSIGN(const Bytes scene, encode_scene({}));
  const auto entry_of = [](std::uint64_t number, ByteView contents) {
    return FileEntry{.id = {0, number},
                     .payload_size = contents.size(),
                     .checksum = xxh3(contents),
                     .placeholder = true};
  };
  const RecordKey meta_key{.kind = RecordKind::global, .name = std::string(kMetaGlobal)};
  VARVE_TRY(write_durably(vfs, layout.file(meta_key), as_byte_view(meta)));
  VARVE_TRY(write_durably(vfs, layout.file(scene_key()), scene));
  SaveIndex index;
  index.apply({{meta_key, entry_of(0, as_byte_view(meta))}, {scene_key(), entry_of(1, scene)}});
  return index;
}

class NebulaFormat final : public Format {
 public:
  explicit NebulaFormat(Vfs& vfs) : vfs_(vfs) {}

  std::string_view name() const override { return kName; }

  Result<bool> detect(std::string_view path) const override {
    return or_out_of_memory([&] { return is_save(vfs_, SaveLayout(without_scheme(path))); });
  }
  Result<std::unique_ptr<Store>> open(std::string_view path) const override {
    return NebulaStore::open(vfs_, without_scheme(path));
  }
  Result<std::unique_ptr<Store>> open_to_read(std::string_view path) const override {
    return NebulaStore::open_to_read(vfs_, without_scheme(path));
  }
  Result<std::unique_ptr<Store>> create(std::string_view path) const override {
    return NebulaStore::create(vfs_, without_scheme(path));
  }

  Status rename(std::string_view from, std::string_view to) const override {
    return or_out_of_memory([&] {
      return rename_save(SaveLayout(without_scheme(from)), SaveLayout(without_scheme(to)));
    });
  }
  Status remove(std::string_view path) const override {
    return or_out_of_memory([&] { return remove_save(SaveLayout(without_scheme(path))); });
  }

 private:
  // Whether nobody writes it. The lock is let go again: it lies in what is to be moved.
  Status must_be_closed(const SaveLayout& layout) const {
    VARVE_ASSIGN(const auto lock, lock_save(vfs_, layout));
    return {};
  }

  Status rename_save(const SaveLayout& from, const SaveLayout& to) const {
    VARVE_ASSIGN(const bool is_there, is_save(vfs_, from));
    if (!is_there) return not_found(fmt::format("there is no save at {}", from.root()));
    VARVE_ASSIGN(const auto numbers, list_backups(vfs_, from));
    // The save comes last: what was interrupted can be done again.
    std::vector<std::pair<std::string, std::string>> moves;
    for (const std::uint32_t number : numbers) {
      const std::string backup = backup_path(from.root(), number);
      VARVE_ASSIGN(const bool is_ours, is_save(vfs_, SaveLayout(backup)));
      if (is_ours) moves.emplace_back(backup, backup_path(to.root(), number));
    }
    moves.emplace_back(from.root(), to.root());
    for (const auto& [old_path, new_path] : moves) {
      VARVE_TRY(must_be_closed(SaveLayout(old_path)));
      VARVE_ASSIGN(const bool is_taken, vfs_.exists(new_path));
      if (is_taken) {
        return invalid_argument(fmt::format("{} exists already; choose another path", new_path));
      }
    }
    Status moved;
    std::size_t moved_count = 0;
    while (moved && moved_count < moves.size()) {
      moved = vfs_.rename(moves[moved_count].first, moves[moved_count].second);
      if (moved) ++moved_count;
    }
    // There first: on its way it may have two names, never none.
    if (moved) moved = vfs_.sync_dir(path_parent(to.root()));
    if (moved) moved = vfs_.sync_dir(path_parent(from.root()));
    // All of it or nothing, as far as the disk allows.
    while (!moved && moved_count > 0) {
      --moved_count;
      (void)vfs_.rename(moves[moved_count].second, moves[moved_count].first);
    }
    return moved;
  }

  Status remove_save(const SaveLayout& layout) const {
    VARVE_ASSIGN(const bool is_there, is_save(vfs_, layout));
    // One that was interrupted goes too.
    if (!is_there) {
      return remove_leftover(vfs_, SaveLayout(layout.root() + std::string(kRemovingSuffix)));
    }
    VARVE_TRY(must_be_closed(layout));
    Backups backups(vfs_, layout);
    VARVE_TRY(backups.trim(0));
    VARVE_TRY(remove_whole_save(vfs_, layout));
    return vfs_.sync_dir(path_parent(layout.root()));
  }

  Vfs& vfs_;
};

}  // namespace

namespace {

Status must_be_free(Vfs& vfs, const SaveLayout& layout) {
  VARVE_ASSIGN(const bool is_there, vfs.exists(layout.root()));
  if (is_there) {
    return invalid_argument(
        fmt::format("{} exists already; open it, remove it or choose another path", layout.root()));
  }
  // A new world would take these for its own, and rotate away all that is left of another.
  const SaveLayout backup(backup_path(layout.root(), 1));
  VARVE_ASSIGN(const bool has_backup, is_save(vfs, backup));
  if (!has_backup) return {};
  return invalid_argument(fmt::format(
      "there is no save at {}, but its backup {} is there; rename that to bring it back, or move "
      "it away to begin anew",
      layout.root(), backup.root()));
}

}  // namespace

Result<std::unique_ptr<Store>> NebulaStore::create(Vfs& vfs, std::string_view path) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    const SaveLayout layout(path);
    VARVE_TRY(must_be_free(vfs, layout));
    // Complete before it has its name, so that a crash leaves a save or nothing.
    const SaveLayout unfinished(layout.root() + std::string(kUnfinishedSuffix));
    VARVE_TRY(remove_leftover(vfs, unfinished));
    {
      VARVE_TRY(vfs.create_dir(unfinished.root()));
      // Two that make the same save at once must not make it of both their files. Held while
      // it gets its name: whoever comes then finds the name taken.
      VARVE_ASSIGN(const auto lock, lock_save(vfs, unfinished));
      VARVE_TRY(make_folders(vfs, unfinished));
      VARVE_ASSIGN(const SaveIndex index, write_empty_save(vfs, unfinished));
      VARVE_TRY(vfs.sync_dir(unfinished.root()));
      VARVE_ASSIGN(auto catalog, CatalogFile::rewrite(vfs, unfinished, index));
      VARVE_TRY(catalog.append(closed_record(index, index.sequence + 1)));
      VARVE_TRY(must_be_free(vfs, layout));
      VARVE_TRY(rename_durably(vfs, unfinished.root(), layout.root()));
    }
    return open(vfs, path);
  });
}

std::unique_ptr<const Format> make_nebula_format(Vfs& vfs) {
  return std::make_unique<NebulaFormat>(vfs);
}

}  // namespace varve::nebula
