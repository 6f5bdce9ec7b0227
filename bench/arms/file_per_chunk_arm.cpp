// What many games do: one file per chunk, replaced by a rename. Each temporary is
// synced before its rename, and the folder once at the end of the batch, which is
// the least that is safe.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/endian.h"
#include "base/try.h"
#include "io/path.h"
#include "io/vfs.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

class FilePerChunkArm final : public KvArm {
 public:
  Status open(const std::string& dir) override {
    dir_ = dir;
    return {};
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    Vfs& vfs = posix_vfs();
    for (const KvPair& pair : pairs) {
      const std::string path = path_of(pair.key);
      const std::string temporary = path + ".tmp";
      VARVE_ASSIGN(const auto file, vfs.open(temporary, OpenMode::replace));
      VARVE_TRY(file->append(pair.value));
      VARVE_TRY(file->sync_data());
      VARVE_TRY(file->close());
      VARVE_TRY(vfs.rename(temporary, path));
    }
    return vfs.sync_dir(dir_);
  }

  // New names replace nothing, so they need no rename; syncs run in parallel.
  Status load_batch(std::span<const KvPair> pairs) override {
    std::vector<std::unique_ptr<File>> files;
    std::vector<File*> unsynced;
    for (const KvPair& pair : pairs) {
      VARVE_ASSIGN(auto file, posix_vfs().open(path_of(pair.key), OpenMode::replace));
      VARVE_TRY(file->append(pair.value));
      unsynced.push_back(file.get());
      files.push_back(std::move(file));
    }
    VARVE_TRY(posix_vfs().sync_data(unsynced));
    for (const auto& file : files) VARVE_TRY(file->close());
    return posix_vfs().sync_dir(dir_);
  }

  Status get(ByteView key, Consumer& consume) override {
    VARVE_ASSIGN(const auto file, posix_vfs().open(path_of(key), OpenMode::read));
    VARVE_ASSIGN(const std::uint64_t size, file->size());
    value_.resize(size);
    VARVE_TRY(file->read_exactly(0, value_.span()));
    consume(value_.view());
    return file->close();
  }

  Status close() override { return {}; }

 private:
  std::string path_of(ByteView key) const {
    return path_join(dir_, fmt::format("c.{:x}.{:x}.{:x}", load_be<std::uint32_t>(key.data()),
                                       load_be<std::uint32_t>(key.data() + 4),
                                       load_be<std::uint32_t>(key.data() + 8)));
  }

  std::string dir_;
  Buffer value_;
};

}  // namespace

KvArmKind file_per_chunk_arm_kind() {
  return {.name = "file-per-chunk",
          .version = "",
          .settings = "temporary, fdatasync and rename a chunk; one fsync of the folder a batch",
          .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<FilePerChunkArm>(); }};
}

}  // namespace varve::bench
