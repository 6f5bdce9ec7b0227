#include "store/nebula/save_opening.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "base/try.h"
#include "io/path.h"
#include "store/nebula/save_files.h"
#include "store/save_folder.h"

namespace varve::nebula {
namespace {

// nullopt if there is no such file.
Result<std::optional<Bytes>> read_if_there(Vfs& vfs, const std::string& path,
                                           std::uint64_t size_limit) {
  auto file = vfs.open(path, OpenMode::read);
  if (!file && file.error().code() == ErrorCode::not_found) return std::nullopt;
  if (!file) return file.error();
  VARVE_ASSIGN(Bytes contents, (*file)->read_all(size_limit));
  return contents;
}

// All files that hold a record, whoever wrote them.
Result<std::vector<RecordKey>> list_files(Vfs& vfs, const SaveLayout& layout) {
  std::vector<RecordKey> keys;
  for (const std::string_view folder : {"", "chunks", "players", "globals"}) {
    VARVE_ASSIGN(const auto entries, list_if_there(vfs, layout.in(folder)));
    for (const DirEntry& entry : entries) {
      if (entry.kind != FileKind::file) continue;
      if (auto key = key_of_file(folder, entry.name)) keys.push_back(*std::move(key));
    }
  }
  return keys;
}

// The contents that wait to be put in place.
Result<std::set<FileId>> list_staged(Vfs& vfs, const SaveLayout& layout) {
  std::set<FileId> waiting;
  VARVE_ASSIGN(const auto entries, list_if_there(vfs, layout.in("varve/staged")));
  for (const DirEntry& entry : entries) {
    if (const auto id = parse_file_id(entry.name)) waiting.insert(*id);
  }
  return waiting;
}

// Corrects an index of which part was lost, or all of it, by what is there.
Status take_files_as_they_are(Vfs& vfs, const SaveLayout& layout, std::uint64_t doubtful_sequence,
                              FoundSave& found) {
  SaveIndex& index = found.index;
  // Contents of unknown origin get a version no other has.
  if (index.file_count() > 0) ++index.sequence;
  VARVE_ASSIGN(const auto keys, list_files(vfs, layout));
  VARVE_ASSIGN(const std::set<FileId> waiting, list_staged(vfs, layout));
  const auto is_sure = [&](const FileEntry& entry) {
    return entry.id.version > doubtful_sequence || waiting.contains(entry.id);
  };
  const KeySet erased(found.erased.begin(), found.erased.end());
  KeySet there;
  std::vector<IndexChange> changes;
  for (const RecordKey& key : keys) {
    if (erased.contains(key)) continue;
    there.insert(key);
    const FileEntry* known = index.find(key);
    if (known != nullptr && is_sure(*known)) continue;
    // What was lost may have put a record in the place of what we made.
    if (known != nullptr && known->placeholder && read_payload(vfs, layout, key, *known)) continue;
    changes.push_back({key, FileEntry{.id = {index.sequence, changes.size()}, .checked = false}});
  }
  index.visit([&](const RecordKey& key, const FileEntry& entry) {
    // Erased by what was lost, it must be.
    if (!there.contains(key) && !is_sure(entry)) changes.push_back({key, std::nullopt});
    return true;
  });
  index.apply(changes);
  return {};
}

Status finish_staged(Vfs& vfs, const SaveLayout& layout, const std::vector<DirEntry>& entries,
                     FoundSave& found) {
  if (entries.empty()) return {};
  std::map<FileId, RecordKey> wanted;
  found.index.visit([&](const RecordKey& key, const FileEntry& entry) {
    wanted.emplace(entry.id, key);
    return true;
  });
  for (const DirEntry& entry : entries) {
    const std::string path = path_join(layout.in("varve/staged"), entry.name);
    if (entry.kind == FileKind::directory) continue;
    const auto id = parse_file_id(entry.name);
    const auto it = id ? wanted.find(*id) : wanted.end();
    if (it != wanted.end()) {
      VARVE_TRY(put_in_place(vfs, layout, path, it->second));
      // Of two names of one file, a rename leaves both.
      VARVE_TRY(remove_if_there(vfs, path));
      found.report.finished_commit = true;
    } else if (found.end) {
      VARVE_TRY(remove_if_there(vfs, path));
      found.report.dropped_tail = true;
    } else {
      // What was lost of the catalog may have known it.
      VARVE_TRY(keep_aside(vfs, layout, path));
      VARVE_TRY(remove_if_there(vfs, path));
      found.report.problems.push_back(
          {path, corruption("nobody knows any more what it is; it is in the quarantine")});
    }
  }
  return {};
}

}  // namespace

Result<bool> is_save(Vfs& vfs, const SaveLayout& layout) {
  const auto info = vfs.info(layout.root());
  if (!info && info.error().code() == ErrorCode::not_found) return false;
  if (!info) return info.error();
  if (info->kind != FileKind::directory) return false;
  VARVE_ASSIGN(const bool has_catalog, vfs.exists(layout.catalog()));
  if (has_catalog) return true;
  VARVE_ASSIGN(const bool has_meta, vfs.exists(layout.in("world.ron")));
  if (!has_meta) return false;
  for (const std::string_view mark : {"chunks", "entities.bin"}) {
    VARVE_ASSIGN(const bool has_mark, vfs.exists(layout.in(mark)));
    if (has_mark) return true;
  }
  return false;
}

Result<FoundSave> find_save(Vfs& vfs, const SaveLayout& layout) {
  FoundSave found;
  const auto file = read_if_there(vfs, layout.catalog(), kCatalogSizeMax);
  // A folder, or a file no catalog ever was as large as, is a damaged one.
  const bool is_none = !file && (file.error().code() == ErrorCode::corruption ||
                                 file.error().code() == ErrorCode::invalid_argument);
  if (!file && !is_none) return file.error();
  if (file && !*file) {
    VARVE_TRY(take_files_as_they_are(vfs, layout, 0, found));
    return found;
  }
  auto catalog = is_none ? corruption(file.error().message()) : decode_catalog(**file);
  if (!catalog && catalog.error().code() != ErrorCode::corruption) {
    return catalog.error().with_context(layout.catalog());
  }
  if (!catalog) {
    found.report.problems.push_back(
        {layout.catalog(),
         corruption(fmt::format("{}; the files were taken as they are, and cannot be checked",
                                catalog.error().message()))});
    VARVE_TRY(take_files_as_they_are(vfs, layout, ~std::uint64_t{0}, found));
    return found;
  }
  found.index = std::move(catalog->index);
  found.erased = std::move(catalog->erased);
  found.report.dropped_tail = catalog->has_torn_tail;
  if (catalog->damaged_offset) {
    found.report.problems.push_back(
        {layout.catalog(),
         corruption(fmt::format("damaged at offset {}; files of older commits were taken as they "
                                "are, and cannot be checked",
                                *catalog->damaged_offset))});
    VARVE_TRY(take_files_as_they_are(vfs, layout, catalog->damaged_sequence, found));
    return found;
  }
  found.end = catalog->end;
  return found;
}

Result<SaveWriter> recover_save(Vfs& vfs, const SaveLayout& layout, FoundSave& found) {
  VARVE_TRY(clear_folder(vfs, layout.in("varve/held")));
  const bool had_catalog = found.end.has_value() || !found.report.problems.empty();
  if (!had_catalog) {
    // Another program's. It stays as it is until the first commit.
    VARVE_TRY(clear_folder(vfs, layout.in("varve/staged")));
    return SaveWriter(vfs, layout, found.index.sequence, std::nullopt);
  }
  VARVE_ASSIGN(const auto staged, vfs.list(layout.in("varve/staged")));
  if (found.end && found.end->is_closed && !found.report.dropped_tail && staged.empty()) {
    VARVE_ASSIGN(auto catalog, CatalogFile::resume(vfs, layout, *found.end));
    return SaveWriter(vfs, layout, found.index.sequence, std::move(catalog),
                      KeySet(found.erased.begin(), found.erased.end()));
  }
  KeySet erased(found.erased.begin(), found.erased.end());
  if (!found.report.problems.empty()) VARVE_TRY(keep_aside(vfs, layout, layout.catalog()));
  // What was read may be in memory alone, if the writer before us died of a failed sync: it
  // is written again, into a new file, before anything is done that relies on it.
  VARVE_ASSIGN(auto catalog, CatalogFile::rewrite(vfs, layout, found.index, erased));
  VARVE_TRY(finish_staged(vfs, layout, staged, found));
  for (const RecordKey& key : erased) VARVE_TRY(remove_from_place(vfs, layout, key));
  return SaveWriter(vfs, layout, found.index.sequence, std::move(catalog), std::move(erased));
}

}  // namespace varve::nebula
