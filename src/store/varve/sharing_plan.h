// Which chunks of a batch share payloads, and what becomes of the payloads they shared.
//
// Invariants, of what a batch leaves:
// 1. A payload that is shared is there, with a count of the chunks that refer to it, both changed
//    in the batch that changes the chunks.
// 2. What nobody refers to any more is gone, and so is its count.
// 3. Bytes were compared before a chunk came to refer to them.
// Where a save is damaged so that a count can no longer be known, all references are counted anew,
// as the first commit that touches the damage is made.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "store/varve/shared_payload.h"
#include "store/varve/sighting_table.h"

namespace varve {

class SharingPlan {
 public:
  // All must outlive it.
  struct Parts {
    const ReadView& view;  // as it is before the batch; nobody else writes
    bool is_verified = false;
    bool has_shared = false;             // whether the save has the feature
    SightingTable* sightings = nullptr;  // null: nothing new is shared
    ContentHash hash = xxh3_128;
  };
  explicit SharingPlan(const Parts& parts) : parts_(parts) {}

  // What is under the key of a chunk that is about to be replaced or erased, of which `head` is
  // what get_raw() gave, more than kReferenceSizeMax bytes if there are. nullopt if it is none.
  Result<std::optional<Reference>> reference_at(ByteView key,
                                                const Result<std::optional<Bytes>>& head);
  // Whether the payload that is referred to is what `fresh` has, a frame made by the same recipe.
  // Nobody reads it if a hash tells that it is not.
  Result<bool> is_shared_as(const Reference& reference, ByteView fresh) const;
  // nullopt if it is missing or damaged.
  Result<std::optional<Bytes>> find_shared(const Hash128& hash) const;

  // A chunk that referred to this does so no more.
  void release(const Hash128& hash) { ++changes_[hash].released_count; }

  // How a chunk is to be stored. `stored` is there already: it is written only if it is shared.
  // `kept` was shared, and stays so even if it is alone with its bytes.
  enum class OfferKind : std::uint8_t { fresh, stored, kept };
  void offer(OfferKind kind, ByteView key, Bytes frame, WriteBatch& batch);
  // A chunk that holds this already and is not written.
  void note(ByteView key, ByteView frame);
  // Counts all references anew.
  void demand_recount() noexcept { needs_recount_ = true; }

  // Puts everything that was offered, and what follows from it, into the batch, which has all
  // else that is to change. Once.
  Status finish(WriteBatch& batch);

  // Whether frames are looked at, so that they must be in one piece.
  bool wants_frames() const noexcept { return parts_.has_shared || parts_.sightings != nullptr; }
  // Whether the save needs the feature behind the batch.
  bool has_shared() const noexcept { return parts_.has_shared || !created_.empty(); }
  // Of what was offered and is not in the batch yet.
  std::uint64_t held_size() const noexcept { return held_size_; }

 private:
  struct Offer {
    Bytes key;
    Bytes frame;
    Hash128 hash;
    OfferKind kind = OfferKind::fresh;
  };
  struct Change {
    std::uint64_t added_count = 0;
    std::uint64_t released_count = 0;
  };

  Status place(std::span<Offer* const> same_hash, WriteBatch& batch);
  Result<std::optional<Offer>> earlier_with(const Offer& offer, const WriteBatch& batch);
  bool is_changed(ByteView key, const WriteBatch& batch);
  Status refer(Offer& offer);
  // nullopt if there is none.
  Result<std::optional<std::uint64_t>> count_of(const Hash128& hash) const;
  // False, with nothing in the batch, if a count cannot be right.
  Result<bool> settle(WriteBatch& batch) const;
  Status recount(WriteBatch& batch) const;
  static void put_count(const Hash128& hash, std::uint64_t count, WriteBatch& batch);

  const Parts parts_;
  std::vector<Offer> offers_;
  std::uint64_t held_size_ = 0;
  std::map<Hash128, Change> changes_;
  std::set<Hash128> created_;
  // Keys the batch changes, once somebody wants to know.
  std::optional<std::unordered_set<std::string_view>> changed_keys_;
  bool needs_recount_ = false;
};

}  // namespace varve
