// Checking everything a nebula save holds.
#include <functional>
#include <set>

#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "store/nebula/nebula_store.h"
#include "store/nebula/nvck.h"
#include "store/nebula/save_files.h"

namespace varve::nebula {
namespace {

// What a file holds beyond what its checksum says.
Status check_contents(const RecordKey& key, const Bytes& payload) {
  if (key.kind == RecordKind::chunk && payload.text().starts_with("NVCK")) {
    std::vector<VoxelType> cells(kCellCount);
    return decode_nvck(payload, Cells(cells));
  }
  if (key.kind == RecordKind::global && key.name == kMetaGlobal) {
    const auto meta = decode_meta(payload.text());
    if (!meta) return meta.error();
  }
  return {};
}

// The files of records that are part of nothing, by their paths. One that is known is
// told by its key or, where its name is too long for that, by its path.
Result<std::vector<std::string>> list_strays(Vfs& vfs, const SaveLayout& layout,
                                             const std::function<bool(const RecordKey&)>& is_known,
                                             const std::set<std::string>& long_names) {
  std::vector<std::string> strays;
  for (const std::string_view folder : {"", "chunks", "players", "globals"}) {
    VARVE_ASSIGN(const auto entries, list_if_there(vfs, layout.in(folder)));
    for (const DirEntry& entry : entries) {
      const auto key = key_of_file(folder, entry.name);
      if (key && is_known(*key)) continue;
      // Beside world.ron a person may keep what is no record.
      if (folder.empty() && (!key || entry.kind != FileKind::file)) continue;
      const std::string path =
          layout.in(folder.empty() ? entry.name : path_join(folder, entry.name));
      if (!long_names.contains(path)) strays.push_back(path);
    }
  }
  return strays;
}

}  // namespace

Result<VerifyReport> NebulaStore::verify(Progress& progress) const {
  return or_out_of_memory([&]() -> Result<VerifyReport> {
    // Held, so that a commit beside us takes no file away.
    const SharedGeneration at = hold();
    if (at == nullptr) return closed();
    VerifyReport report;
    report.problems = open_report_.problems;
    VARVE_TRY(verify_files(*at, progress, report));
    VARVE_TRY(verify_names(*at, report));
    // A writer beside a reader may have replaced what we call damaged.
    if (!can_write_ && report.problems.size() > open_report_.problems.size()) {
      VARVE_TRY(moved_on(at));
    }
    progress.report(1);
    return report;
  });
}

Status NebulaStore::verify_files(const Generation& at, Progress& progress,
                                 VerifyReport& report) const {
  const double file_count = static_cast<double>(at.files.file_count() + 1);
  std::uint64_t done_count = 0;
  Status failure;
  at.files.visit([&](const RecordKey& key, const FileEntry& entry) {
    progress.report(static_cast<double>(done_count++) / file_count);
    if (progress.is_cancelled()) {
      failure = cancelled("the check was cancelled");
      return false;
    }
    // Entities come below.
    if (key.kind == RecordKind::entity) return true;
    if (!entry.placeholder) ++report.record_count;
    const auto payload = read_payload(vfs_, layout_, key, entry);
    const Status good = payload ? check_contents(key, *payload) : payload.error();
    if (good) return true;
    // A disk that dies gives up one file after the other: the rest is worth knowing of.
    const ErrorCode code = good.error().code();
    if (code == ErrorCode::corruption || code == ErrorCode::unsupported || code == ErrorCode::io) {
      report.problems.push_back({to_string(key), good.error()});
      return true;
    }
    failure = good;
    return false;
  });
  VARVE_TRY(failure);
  // They were read when the save was opened; here is whether their file still is good.
  report.record_count += at.scene->tables->entities.size();
  if (!at.files.scene) return {};
  const auto scene = load_scene(vfs_, layout_, at.files);
  if (!scene && scene.error().code() != ErrorCode::io) return scene.error();
  const auto& damage = scene ? scene->damage : std::optional(scene.error());
  if (damage) report.problems.push_back({"entity:*", *damage});
  return {};
}

Status NebulaStore::verify_names(const Generation& at, VerifyReport& report) const {
  std::set<std::string> long_names;
  at.files.visit([&](const RecordKey& key, const FileEntry&) {
    std::string path = layout_.file(key);
    if (path_name(path).find('~') != std::string_view::npos) long_names.insert(std::move(path));
    return true;
  });
  const auto is_known = [&](const RecordKey& key) {
    if (at.files.find(key) != nullptr || opened_erased_.contains(key)) return true;
    // A commit may have brought it while we listed.
    const SharedGeneration now = current();
    return now != nullptr && now->files.find(key) != nullptr;
  };
  VARVE_ASSIGN(const auto strays, list_strays(vfs_, layout_, is_known, long_names));
  for (const std::string& path : strays) {
    report.problems.push_back(
        {path,
         corruption("the catalog does not know it, so that it is not part of the save; keep a "
                    "copy before you remove it")});
  }
  return {};
}

}  // namespace varve::nebula
