// One save in the nebula format.
//
// Reads go through the newest Generation, which is swapped whole when a commit is made.
// Commits go through a SaveWriter; see there for what a crash leaves.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "io/vfs.h"
#include "store/nebula/backups.h"
#include "store/nebula/generation.h"
#include "store/nebula/nebula_view.h"
#include "store/nebula/save_writer.h"
#include "varve/format.h"

namespace varve::nebula {

class NebulaStore final : public Store {
 public:
  static Capabilities what_it_can();

  static Result<std::unique_ptr<Store>> open(Vfs& vfs, std::string_view path);
  static Result<std::unique_ptr<Store>> open_to_read(Vfs& vfs, std::string_view path);
  static Result<std::unique_ptr<Store>> create(Vfs& vfs, std::string_view path);

  std::uint64_t generation() const override;
  std::uint64_t tick() const override;
  std::optional<GeneratorId> generator() const override;
  Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const override;
  Result<std::optional<Entity>> read_entity(EntityId id) const override;
  Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const override;
  Result<std::optional<Bytes>> read_player(std::string_view id) const override;
  Result<std::optional<Bytes>> read_global(std::string_view name) const override;
  Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const override;
  Status list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const override;
  Status list_players(const Visitor<NamedInfo>& visit) const override;
  Status list_globals(const Visitor<NamedInfo>& visit) const override;

  const Capabilities& capabilities() const override { return capabilities_; }
  const StoreDefaults& defaults() const override { return defaults_; }
  OpenReport open_report() const override { return open_report_; }
  Result<CommitStats> commit(const Commit& commit, Progress& progress) override;
  Result<std::unique_ptr<StoreView>> pin() override;
  Status quarantine(const RecordKey& key) override;
  Result<VerifyReport> verify(Progress& progress) const override;
  Result<CompactReport> compact(Progress& progress) override;
  Status close() override;

 private:
  // What a commit comes to.
  struct Plan {
    std::vector<FileChange> files;
    SharedGeneration next;  // all but its files
    CommitStats stats;
    bool has_effect = false;
  };
  // The views that are held, by their sequence. Views may outlive the store's interest in
  // them, never the store.
  struct Pins {
    std::mutex mutex;
    std::multiset<std::uint64_t> sequences;
  };

  NebulaStore(Vfs& vfs, SaveLayout layout, OpenReport report, Generation generation,
              std::unique_ptr<WriterLock> lock, std::optional<SaveWriter> writer);

  SharedGeneration current() const;
  SharedGeneration hold() const;
  Error closed() const;
  Status check_writable() const;
  NebulaView::Newer newer() const;
  Result<SharedGeneration> moved_on(const SharedGeneration& than) const;
  template <class Call>
  auto read(Call&& call) const -> decltype(call(std::declval<const NebulaView&>()));

  Status verify_files(const Generation& at, Progress& progress, VerifyReport& report) const;
  Status verify_names(const Generation& at, VerifyReport& report) const;

  Result<CommitStats> make_commit(const Commit& commit, const SharedGeneration& before,
                                  Progress& progress);
  Result<Plan> plan(const Commit& commit, const Generation& before, Progress& progress);
  Status plan_file(const RecordKey& key, const std::optional<Bytes>& payload,
                   const Generation& before, KindStats& stats, Plan& plan);
  Status plan_entities(const Commit& commit, const Generation& before, Progress& progress,
                       Plan& plan, Generation& next);
  bool holds(const RecordKey& key, const FileEntry& entry, const Bytes& payload) const;
  std::optional<std::uint64_t> publish(SharedGeneration next);
  void drop_held_files();

  Vfs& vfs_;
  const SaveLayout layout_;
  const Capabilities capabilities_ = what_it_can();
  const StoreDefaults defaults_ = {};
  const OpenReport open_report_;
  // False in a store that was opened to read. Reads ask this, never the writer, which close()
  // takes away.
  const bool can_write_;
  // In a store that was opened to read, to see whether a writer went on.
  CatalogMark opened_mark_ = {};
  // There too: what is erased and may still lie there, for a writer to remove.
  KeySet opened_erased_ = {};
  std::unique_ptr<WriterLock> lock_;
  // nullopt if it cannot write, or is closed.
  std::optional<SaveWriter> writer_;
  Backups backups_;
  const std::shared_ptr<Pins> pins_ = std::make_shared<Pins>();
  bool has_held_files_ = false;
  // Held only to copy or to swap the pointer.
  mutable std::mutex mutex_;
  SharedGeneration current_;
};

std::unique_ptr<const Format> make_nebula_format(Vfs& vfs);

}  // namespace varve::nebula
