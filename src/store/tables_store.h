// A store whose newest generation is in memory whole.
//
// It does everything but keep generations somewhere: that is publish(), which the memory
// store and the stores of tests fill in.
#pragma once

#include <mutex>
#include <string>

#include "store/record_tables.h"
#include "store/tables_view.h"

namespace varve {

class TablesStore : public Store {
 public:
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
  Result<CommitStats> commit(const Commit& commit, Progress& progress) override;
  Result<std::unique_ptr<StoreView>> pin() override;
  // Records in memory are not damaged one by one, so there is nothing to keep aside.
  Status quarantine(const RecordKey& key) override;
  Result<VerifyReport> verify(Progress& progress) const override;
  // What nobody can see is gone already.
  Result<CompactReport> compact(Progress& progress) override;
  Status close() override;

 protected:
  TablesStore(std::string path, Capabilities capabilities, SharedTables tables)
      : path_(std::move(path)),
        capabilities_(std::move(capabilities)),
        current_(std::move(tables)) {}

  const std::string& path() const noexcept { return path_; }

  struct Publication {
    SharedTables before;
    SharedTables next;
    const Commit& commit;
    const CommitStats& stats;
    Progress& progress;
  };
  // Keeps `next`, so that whoever opens the save finds it. Returns how many bytes were
  // written. On failure, which may be std::bad_alloc, `before` is still what counts.
  virtual Result<std::uint64_t> publish(const Publication& publication) = 0;
  // Lets others open the save. Called once, by close().
  virtual Status release() = 0;

 private:
  // Null once it is closed.
  SharedTables current() const;
  template <class Call>
  auto read(Call&& call) const -> decltype(call(std::declval<const TablesView&>()));
  Error closed() const;

  const std::string path_;
  const Capabilities capabilities_;
  const StoreDefaults defaults_;
  // Held only to copy or to swap the pointer.
  mutable std::mutex mutex_;
  SharedTables current_;
};

}  // namespace varve
