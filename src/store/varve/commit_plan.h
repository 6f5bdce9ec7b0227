// What a commit changes in a varve save, as one batch.
#pragma once

#include <memory>
#include <optional>

#include "store/varve/frame_hints.h"
#include "store/varve/frame_pool.h"
#include "store/varve/payload.h"
#include "store/varve/record_reader.h"
#include "store/varve/sharing_plan.h"

namespace varve {

class CommitPlan {
 public:
  // All must outlive it. `tables` are copied when the commit needs a number that is not there.
  CommitPlan(const SharingPlan::Parts& parts, SharedSaveTables tables,
             const PayloadEncoder& encoder, FramePool& frames, FrameHints& hints, bool with_deltas)
      : view_(parts.view),
        tables_(std::move(tables)),
        encoder_(encoder),
        frames_(frames),
        hints_(hints),
        is_verified_(parts.is_verified),
        with_deltas_(with_deltas),
        has_shared_(parts.has_shared),
        sharing_(parts) {}

  // Takes in everything but the header. Cancelled if the progress says so; it goes up to `share`.
  Status add(const Commit& commit, Progress& progress, double share);
  // The number of a generator, which gets one if it has none.
  Result<std::uint32_t> generator_number(const GeneratorId& id);

  // Whether chunks may share payloads behind it, or did before.
  bool has_shared() const noexcept { return sharing_.has_shared(); }
  WriteBatch& batch() noexcept { return batch_; }
  CommitStats& stats() noexcept { return stats_; }
  const SharedSaveTables& tables() const noexcept { return tables_; }

 private:
  Status add_chunk(const ChunkChange& change);
  Status add_entity(const EntityChange& change);
  Status add_named(RecordKind kind, const NamedChange& change, KindStats& stats);

  // The number of a space, which gets one if it has none.
  Result<SpaceNumber> number_for(Space space);
  SaveTables& own_tables();
  // What a chunk may be a delta against.
  struct Base {
    GeneratorId generator = {};
    Bytes payload = {};
    PayloadBase against = {};  // shows `payload`
  };
  // nullopt if there is none.
  Result<std::optional<Base>> base_at(const ChunkPos& pos);
  // Put the payload under the key unless the save has it already. False if it has.
  Result<bool> put_chunk(const SaveKey& key, const Bytes& payload, const ChunkPos& pos);
  Result<bool> put(const SaveKey& key, const Bytes& payload, bool always = false);
  // As put_chunk() does with a payload that is stored as it is: its frame is put in two pieces,
  // without a copy of the payload, which is gone over once for all checksums.
  Result<bool> put_apart(const SaveKey& key, const Bytes& payload, const std::optional<Base>& base);
  // False if there was nothing.
  Result<bool> erase(const SaveKey& key);
  Result<bool> erase_chunk(const SaveKey& key);

  // A payload that is to be saved.
  struct Fresh {
    const SaveKey& key;
    ByteView frame;
    bool is_apart;  // the frame is what stands before the payload
    const Bytes& payload;
    const std::optional<Base>& base;
  };
  PayloadSources sources_of(const Fresh& fresh) const;
  // Whether the save has it already. A chunk that does not have it and shared what it has is
  // released from that.
  Result<bool> holds(const Fresh& fresh, bool is_chunk);
  // The same of a chunk, told by what is remembered of it where that is enough. What is not there
  // is remembered as if it were: it is put next.
  Result<bool> holds_chunk(const Fresh& fresh);
  Result<bool> holds_shared(const Fresh& fresh, const Reference& reference) const;

  const ReadView& view_;
  SharedSaveTables tables_;
  std::shared_ptr<SaveTables> own_;  // the same, if they were copied
  const PayloadEncoder& encoder_;
  FramePool& frames_;
  FrameHints& hints_;
  const bool is_verified_;
  const bool with_deltas_;
  const bool has_shared_;
  SharingPlan sharing_;
  WriteBatch batch_;
  CommitStats stats_;
};

}  // namespace varve
