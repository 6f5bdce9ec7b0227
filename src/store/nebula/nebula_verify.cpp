// Checking everything a nebula save holds.
#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
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

// Files in the folders of records that are part of nothing.
Status find_strays(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index,
                   VerifyReport& report) {
  for (const std::string_view folder : {"chunks", "players", "globals"}) {
    const auto entries = vfs.list(layout.in(folder));
    if (!entries && entries.error().code() == ErrorCode::not_found) continue;
    if (!entries) return entries.error();
    for (const DirEntry& entry : *entries) {
      const auto key = key_of_file(folder, entry.name);
      if (key && index.find(*key) != nullptr) continue;
      const std::string path = layout.in(fmt::format("{}/{}", folder, entry.name));
      // Long names are not read back from files; the catalog knows them.
      if (!key && entry.name.find('~') != std::string::npos) continue;
      report.problems.push_back(
          {path, corruption("not part of the save: the catalog does not know it. Put it into the "
                            "save by its key, or remove it")});
    }
  }
  return {};
}

}  // namespace

Result<VerifyReport> NebulaStore::verify(Progress& progress) const {
  return or_out_of_memory([&]() -> Result<VerifyReport> {
    const SharedGeneration at = current();
    if (at == nullptr) return closed();
    VerifyReport report;
    report.problems = open_report_.problems;
    const double file_count = static_cast<double>(at->files.file_count() + 1);
    std::uint64_t done_count = 0;
    std::optional<Error> failure;
    const bool finished = at->files.visit([&](const RecordKey& key, const FileEntry& entry) {
      progress.report(static_cast<double>(done_count++) / file_count);
      if (progress.is_cancelled()) return false;
      if (key.kind == RecordKind::entity || entry.placeholder) return true;
      ++report.record_count;
      const auto payload = read_payload(vfs_, layout_, key, entry);
      const Status good = payload ? check_contents(key, *payload) : payload.error();
      if (good) return true;
      if (good.error().code() != ErrorCode::corruption &&
          good.error().code() != ErrorCode::unsupported) {
        failure = good.error();
        return false;
      }
      // A writer beside us may have replaced it.
      const auto newer = moved_on(at);
      if (!newer) failure = newer.error();
      report.problems.push_back({to_string(key), good.error()});
      return !failure.has_value();
    });
    if (failure) return *failure;
    if (!finished) return cancelled("the check was cancelled");
    // Entities were read when the save was opened; here is whether their file still is good.
    report.record_count += at->scene->tables->entities.size();
    if (at->files.scene) {
      const auto scene = load_scene(vfs_, layout_, at->files);
      if (!scene) return scene.error();
      if (scene->damage) report.problems.push_back({layout_.file(scene_key()), *scene->damage});
    }
    VARVE_TRY(find_strays(vfs_, layout_, at->files, report));
    progress.report(1);
    return report;
  });
}

}  // namespace varve::nebula
