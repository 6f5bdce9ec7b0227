#include "store/varve/sharing_plan.h"

#include <algorithm>
#include <tuple>

#include "base/try.h"
#include "store/varve/payload_frame.h"
#include "store/varve/save_tables.h"

namespace varve {
namespace {

// Calls `use(hash)` for each key with this tag.
template <class Use>
Status for_each_hash(const ReadView& view, KeyTag tag, Use use) {
  RangeQuery query{.prefix = SaveKey(tag).copy(), .values = false};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    for (const RangeEntry& entry : page.entries) {
      // What is under another key is for verify() to tell.
      if (const auto hash = decode_shared_key(entry.key)) VARVE_TRY(use(*hash));
    }
    from = std::move(page.next);
  }
  return {};
}

}  // namespace

// --- What is there -------------------------------------------------------------------

Result<std::optional<Reference>> SharingPlan::reference_at(
    ByteView key, const Result<std::optional<Bytes>>& head) {
  if (!head && head.error().code() != ErrorCode::corruption) return head.error();
  if (head && !*head) return std::nullopt;
  // A value that is longer is none, whatever has become of it: its size is known apart from it.
  if (head && (*head)->size() > kReferenceSizeMax) return std::nullopt;
  const auto value = parts_.view.get(key);
  if (!value && value.error().code() != ErrorCode::corruption) return value.error();
  if (value && *value) {
    if (looks_like_reference(**value)) {
      if (const auto found = decode_reference(key, **value, parts_.is_verified)) return *found;
    } else if (parts_.is_verified || check_seal(key, **value)) {
      return std::nullopt;
    }
  }
  // It may have been a reference, and nobody knows to what.
  needs_recount_ = true;
  return std::nullopt;
}

Result<std::optional<Bytes>> SharingPlan::find_shared(const Hash128& hash) const {
  const SaveKey key = shared_payload_key(hash);
  auto found = parts_.view.get(key);
  if (!found && found.error().code() == ErrorCode::corruption) return std::nullopt;
  if (found && *found && !parts_.is_verified && !check_seal(key, **found)) return std::nullopt;
  return found;
}

Result<bool> SharingPlan::is_shared_as(const Reference& reference, ByteView fresh) const {
  if (parts_.hash(behind_checksum(fresh)) != reference.hash) return false;
  VARVE_ASSIGN(const auto shared, find_shared(reference.hash));
  return shared && are_same_but_for_key(*shared, fresh);
}

Result<std::optional<std::uint64_t>> SharingPlan::count_of(const Hash128& hash) const {
  const SaveKey key = shared_count_key(hash);
  VARVE_ASSIGN(const auto frame, parts_.view.get(key));
  if (!frame) return std::nullopt;
  VARVE_ASSIGN(const Bytes payload, read_plain_frame(key, *frame));
  VARVE_ASSIGN(const std::uint64_t count, decode_shared_count(payload));
  return count;
}

// --- What is offered -----------------------------------------------------------------

void SharingPlan::offer(OfferKind kind, ByteView key, Bytes frame, WriteBatch& batch) {
  const bool is_considered = parts_.sightings != nullptr || kind == OfferKind::kept;
  if (!is_considered || frame.size() < kSharedFrameSizeMin) {
    if (kind != OfferKind::stored) batch.put(key, std::move(frame));
    return;
  }
  const Hash128 hash = parts_.hash(behind_checksum(frame));
  held_size_ += key.size() + frame.size();
  offers_.push_back({Bytes::copy_of(key), std::move(frame), hash, kind});
}

void SharingPlan::note(ByteView key, ByteView frame) {
  if (parts_.sightings == nullptr || frame.size() < kSharedFrameSizeMin) return;
  parts_.sightings->note(parts_.hash(behind_checksum(frame)), key);
}

bool SharingPlan::is_changed(ByteView key, const WriteBatch& batch) {
  if (!changed_keys_) {
    changed_keys_.emplace();
    changed_keys_->reserve(batch.count() + offers_.size());
    for (const WriteBatch::Change& change : batch.changes()) {
      changed_keys_->insert(change.key.text());
    }
    for (const Offer& offer : offers_) changed_keys_->insert(offer.key.text());
  }
  return changed_keys_->contains(as_text(key));
}

Result<std::optional<SharingPlan::Offer>> SharingPlan::earlier_with(const Offer& offer,
                                                                    const WriteBatch& batch) {
  if (parts_.sightings == nullptr) return std::nullopt;
  const auto seen_at = parts_.sightings->find(offer.hash);
  if (!seen_at || is_changed(*seen_at, batch)) return std::nullopt;
  Bytes key = Bytes::copy_of(*seen_at);
  auto found = parts_.view.get(key);
  if (!found && found.error().code() != ErrorCode::corruption) return found.error();
  if (!found || !*found || !are_same_but_for_key(**found, offer.frame)) return std::nullopt;
  if (!parts_.is_verified && !check_seal(key, **found)) return std::nullopt;
  return Offer{std::move(key), **std::move(found), offer.hash, OfferKind::stored};
}

Status SharingPlan::refer(Offer& offer) {
  VARVE_ASSIGN(offer.frame, encode_reference(offer.key, offer.frame, offer.hash));
  offer.kind = OfferKind::fresh;
  ++changes_[offer.hash].added_count;
  return {};
}

Status SharingPlan::place(std::span<Offer* const> same_hash, WriteBatch& batch) {
  const Offer& first = *same_hash.front();
  const SaveKey key = shared_payload_key(first.hash);
  // Without the feature there is none, and nobody has to look.
  const auto stored = parts_.has_shared ? parts_.view.get_raw(key, 0) : std::nullopt;
  if (!stored && stored.error().code() != ErrorCode::corruption) return stored.error();
  std::optional<Bytes> shared;
  std::optional<Offer> earlier;
  if (!stored || *stored) {
    VARVE_ASSIGN(shared, find_shared(first.hash));
    // One that is damaged cannot be compared, and so nobody joins it.
    if (!shared) return {};
  } else {
    VARVE_ASSIGN(earlier, earlier_with(first, batch));
    std::size_t count = earlier ? 1 : 0;
    for (const Offer* offer : same_hash) {
      count += are_same_but_for_key(offer->frame, first.frame) ? 1 : 0;
    }
    if (count < 2 && first.kind != OfferKind::kept) {
      if (parts_.sightings != nullptr) parts_.sightings->note(first.hash, first.key);
      return {};
    }
    shared = sealed_for(key, first.frame);
    batch.put(key, *shared);
    created_.insert(first.hash);
  }
  for (Offer* offer : same_hash) {
    if (are_same_but_for_key(offer->frame, *shared)) VARVE_TRY(refer(*offer));
  }
  if (earlier) {
    VARVE_TRY(refer(*earlier));
    batch.add({std::move(earlier->key), std::move(earlier->frame)});
  }
  return {};
}

// --- The end -------------------------------------------------------------------------

Status SharingPlan::finish(WriteBatch& batch) {
  if (offers_.empty() && changes_.empty() && !needs_recount_) return {};
  std::vector<Offer*> by_hash;
  by_hash.reserve(offers_.size());
  for (Offer& offer : offers_) by_hash.push_back(&offer);
  // Those of one hash stay in their order, which is that of their addresses.
  std::sort(by_hash.begin(), by_hash.end(), [](const Offer* a, const Offer* b) {
    return std::tie(a->hash, a) < std::tie(b->hash, b);
  });
  for (auto from = by_hash.begin(); from != by_hash.end();) {
    const auto to = std::find_if(from, by_hash.end(),
                                 [&](const Offer* offer) { return offer->hash != (*from)->hash; });
    VARVE_TRY(place({from, to}, batch));
    from = to;
  }
  // In their own order, so that chunks that are saved together lie together.
  for (Offer& offer : offers_) {
    if (offer.kind == OfferKind::stored) continue;
    batch.add({std::move(offer.key), std::move(offer.frame)});
  }
  if (!needs_recount_) {
    VARVE_ASSIGN(const bool is_settled, settle(batch));
    if (is_settled) return {};
  }
  return recount(batch);
}

void SharingPlan::put_count(const Hash128& hash, std::uint64_t count, WriteBatch& batch) {
  const SaveKey key = shared_count_key(hash);
  if (count != 0) {
    batch.put(key, plain_frame(key, encode_shared_count(count)));
    return;
  }
  batch.erase(key);
  batch.erase(shared_payload_key(hash));
}

Result<bool> SharingPlan::settle(WriteBatch& batch) const {
  std::vector<std::pair<Hash128, std::uint64_t>> counts;
  for (const auto& [hash, change] : changes_) {
    const bool is_new = created_.contains(hash);
    if (!is_new && change.added_count == change.released_count) continue;
    const auto before = count_of(hash);
    if (!before && before.error().code() != ErrorCode::corruption) return before.error();
    // A payload without a count, or the other way round.
    if (!before || before->has_value() == is_new) return false;
    const std::uint64_t count = before->value_or(0) + change.added_count;
    if (count < change.released_count) return false;
    counts.emplace_back(hash, count - change.released_count);
    if (counts.back().second > kSharedCountMax) return false;
  }
  for (const auto& [hash, count] : counts) put_count(hash, count, batch);
  return true;
}

Status SharingPlan::recount(WriteBatch& batch) const {
  VARVE_ASSIGN(auto counts, count_references(parts_.view, parts_.is_verified));
  for (const auto& [hash, change] : changes_) {
    std::uint64_t& count = counts[hash];
    count += change.added_count;
    count -= std::min(count, change.released_count);
  }
  std::set<Hash128> there = created_;
  VARVE_TRY(for_each_hash(parts_.view, KeyTag::shared_payload, [&](const Hash128& hash) -> Status {
    there.insert(hash);
    return {};
  }));
  for (const Hash128& hash : there) {
    const auto before = count_of(hash);
    if (!before && before.error().code() != ErrorCode::corruption) return before.error();
    const auto counted = counts.find(hash);
    const std::uint64_t count = counted != counts.end() ? counted->second : 0;
    if (!before || before->value_or(0) != count || count == 0) put_count(hash, count, batch);
  }
  return for_each_hash(parts_.view, KeyTag::shared_count, [&](const Hash128& hash) -> Status {
    if (!there.contains(hash)) batch.erase(shared_count_key(hash));
    return {};
  });
}

}  // namespace varve
