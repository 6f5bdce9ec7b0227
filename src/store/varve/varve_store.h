// One save in the varve format: a key layout on a backend. docs/formats/varve_v1.md has every byte.
//
// A commit is one batch of the backend, with the header and its copy in it, so that it is one
// generation or none. Reads go to the backend as it is; what takes several looks goes to a
// snapshot.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "store/varve/frame_pool.h"
#include "store/varve/payload.h"
#include "store/varve/sharing_plan.h"
#include "store/varve/varve_view.h"
#include "varve/backend.h"
#include "varve/store.h"
#include "varve/varve_store.h"

namespace varve {

class SaveBackups;

class VarveStore final : public Store {
 public:
  struct Parts {
    std::string path;    // for messages
    std::string format;  // the name it is registered under
    std::unique_ptr<Backend> backend;
    VarveOptions options = {};
    bool can_write = true;
    // Null where the save has no place beside it for them.
    std::shared_ptr<SaveBackups> backups = nullptr;
    // By which payloads that may be the same are found, and under which they are stored: the same
    // one for the life of a save. For tests, which want one that fails.
    ContentHash hash = xxh3_128;
  };
  // Writes the first header and its copy into a backend that holds nothing. `save_id` is drawn at
  // random.
  static Status create(Backend& backend, std::uint64_t save_id);
  // corruption if the backend holds no save; unsupported for one of a newer program.
  static Result<std::unique_ptr<VarveStore>> open(Parts parts);

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
  void use_generator(std::shared_ptr<const Generator> generator) override;
  Result<CommitStats> commit(const Commit& commit, Progress& progress) override;
  Result<std::unique_ptr<StoreView>> pin() override;
  using Store::quarantine;
  Status quarantine(const RecordKey& key) override;
  Result<VerifyReport> verify(Progress& progress) const override;
  Result<CompactReport> compact(Progress& progress) override;
  Status close() override;

  // --- For whoever copies saves.

  Backend& backend() noexcept { return *backend_; }
  const Backend& backend() const noexcept { return *backend_; }
  const std::string& path() const noexcept { return path_; }
  // Why records may be missing that nobody erased, if opening saw it.
  const std::optional<Error>& loss() const noexcept { return loss_; }
  Result<std::unique_ptr<VarveView>> pin_view() const;

 private:
  // What a reader needs to know of the newest generation.
  struct Newest {
    SaveHeader header;
    SharedSaveTables tables;
    // While a batch is written: the header it brings, which counts from the moment at which the
    // backend shows a batch above this number.
    std::optional<SaveHeader> next = {};
    std::uint64_t sequence = 0;

    Newest(SaveHeader at, SharedSaveTables with, std::optional<SaveHeader> then = {},
           std::uint64_t from = 0)
        : header(at), tables(std::move(with)), next(then), sequence(from) {}
  };
  using SharedNewest = std::shared_ptr<const Newest>;

  VarveStore(Parts parts, Newest newest, PayloadEncoder encoder, OpenReport report,
             std::optional<Error> loss);

  SharedNewest newest() const;
  SaveHeader newest_header() const;
  // Needs no memory: what it is to become has been made before.
  void publish(SharedNewest next) noexcept;
  Error closed() const;
  Status check_writable() const;
  bool is_verified() const;
  template <class Call>
  auto read(Call&& call) const -> decltype(call(std::declval<const RecordReader&>()));
  template <class Call>
  auto read_held(Call&& call) const -> decltype(call(std::declval<const VarveView&>()));
  // varve_compact.cpp: what a record holds stays the same.
  Status learn_dictionary(const VarveView& view);
  Status encode_anew(const VarveView& view, Progress& progress);
  Status encode_record_anew(const RecordReader& reader, const SaveTables& tables, KeyTag tag,
                            const RangeEntry& entry, SharingPlan& sharing, WriteBatch& batch) const;
  // Writes the header anew if one of its records is no good.
  Status mend_header();
  // Puts right what damage has left of counts.
  Status recount_shared();
  Status write_rewriting(SharingPlan& sharing, WriteBatch& batch);
  Status write_upkeep(const WriteBatch& batch);
  // What is there before a commit becomes the newest backup.
  Status keep_backups(std::uint32_t count);
  // Puts a record as it lies there beside the others. Its value, if it is there.
  Result<std::optional<Bytes>> set_aside(const SaveKey& key, WriteBatch& batch) const;
  SharingPlan::Parts sharing_parts(const SaveHeader& header);
  // Takes note of a write that did not succeed. Needs no memory.
  void note_failure(const WriteResult& written) noexcept;

  const std::string path_;
  const std::unique_ptr<Backend> backend_;
  const VarveOptions options_;
  const std::shared_ptr<SaveBackups> backups_;
  const bool can_write_;
  const Capabilities capabilities_;
  const StoreDefaults defaults_;
  const OpenReport open_report_;
  const std::optional<Error> loss_;
  const ContentHash hash_;
  mutable FrameHints hints_;  // of all threads: reading adds to them
  // Of the thread that commits.
  PayloadEncoder encoder_;
  FramePool frames_;
  std::optional<SightingTable> sightings_;  // if new payloads are to be shared
  // Set by a write nobody knows the outcome of; why, if there was memory to keep that.
  bool is_latched_ = false;
  std::string latch_reason_;
  std::atomic<bool> is_closed_ = false;
  // Held only to copy or to swap the pointer.
  mutable std::mutex mutex_;
  SharedNewest newest_;
};

}  // namespace varve
