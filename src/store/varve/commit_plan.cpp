#include "store/varve/commit_plan.h"

#include "base/try.h"
#include "io/thread_rank.h"
#include "store/varve/header_records.h"

namespace varve {

SaveTables& CommitPlan::own_tables() {
  if (own_ == nullptr) {
    own_ = std::make_shared<SaveTables>(*tables_);
    tables_ = own_;
  }
  return *own_;
}

Result<SpaceNumber> CommitPlan::number_for(Space space) {
  if (const auto known = tables_->number_of(space)) return *known;
  VARVE_ASSIGN(const SpaceNumber number, own_tables().add_space(space));
  const SaveKey key = space_key(number);
  batch_.put(key, plain_frame(key, as_byte_view(space.name())));
  return number;
}

Result<std::uint32_t> CommitPlan::generator_number(const GeneratorId& id) {
  if (const auto known = tables_->generators().number_of(id)) return *known;
  VARVE_ASSIGN(const std::uint32_t number, own_tables().add_generator(id));
  const SaveKey key = generator_key(number);
  batch_.put(key, plain_frame(key, encode_generator(id)));
  return number;
}

namespace {

// What is there under a key, or the first bytes of it. A damaged value is none: it is replaced like
// any other that differs.
Result<std::optional<Bytes>> or_none_if_damaged(Result<std::optional<Bytes>> found) {
  if (!found && found.error().code() == ErrorCode::corruption) return std::nullopt;
  return found;
}

}  // namespace

PayloadSources CommitPlan::sources_of(const Fresh& fresh) const {
  PayloadSources sources{.dictionaries = &tables_->dictionaries(),
                         .generators = &tables_->generators(),
                         .is_verified = is_verified_};
  if (fresh.base) {
    sources.generator = &fresh.base->generator;
    sources.generate = [&]() -> Result<Bytes> { return fresh.base->payload; };
  }
  return sources;
}

Result<bool> CommitPlan::holds_shared(const Fresh& fresh, const Reference& reference) const {
  if (reference.payload_size != fresh.payload.size()) return false;
  VARVE_ASSIGN(const PayloadInfo made, inspect_payload(fresh.frame));
  if (reference.recipe == made.recipe) return sharing_.is_shared_as(reference, fresh.frame);
  VARVE_ASSIGN(const auto shared, sharing_.find_shared(reference.hash));
  if (!shared) return false;
  const SaveKey key = shared_payload_key(reference.hash);
  const auto same = holds_payload(key, *shared, fresh.frame, fresh.payload, sources_of(fresh));
  return same && *same;
}

Result<bool> CommitPlan::holds(const Fresh& fresh, bool is_chunk) {
  const auto looked = view_.get_raw(fresh.key, kFrameHeadSizeMax);
  if (is_chunk && has_shared_) {
    VARVE_ASSIGN(const auto reference, sharing_.reference_at(fresh.key, looked));
    if (reference) {
      VARVE_ASSIGN(const bool is_same, holds_shared(fresh, *reference));
      if (!is_same) sharing_.release(reference->hash);
      return is_same;
    }
  }
  VARVE_ASSIGN(const auto head, or_none_if_damaged(looked));
  if (!head || is_other_payload(*head, fresh.frame)) return false;
  VARVE_ASSIGN(const auto stored, or_none_if_damaged(view_.get(fresh.key)));
  if (!stored) return false;
  const Bytes whole = fresh.is_apart ? Bytes::copy_of(fresh.frame, fresh.payload) : Bytes();
  const auto same = holds_payload(fresh.key, *stored, fresh.is_apart ? whole.view() : fresh.frame,
                                  fresh.payload, sources_of(fresh));
  const bool is_same = same && *same;
  if (is_same && is_chunk) sharing_.note(fresh.key, *stored);
  return is_same;
}

Result<std::optional<CommitPlan::Base>> CommitPlan::base_at(const ChunkPos& pos) {
  const std::shared_ptr<const Generator>& generator = tables_->generator();
  if (!with_deltas_ || generator == nullptr) return std::nullopt;
  // A generator that fails here costs space, not the commit.
  auto made = generate_guarded(*generator, pos);
  if (!made) return std::nullopt;
  Base base{.generator = generator->id(), .payload = *std::move(made)};
  VARVE_ASSIGN(const std::uint32_t number, generator_number(base.generator));
  base.against = {.generator_number = number, .payload = base.payload};
  return base;
}

Result<bool> CommitPlan::holds_chunk(const Fresh& fresh) {
  const FrameHints::Hint hint = FrameHints::hint_of(fresh.key, fresh.frame);
  // Most of what is saved differs from what is there, which is remembered. Where chunks share
  // payloads, what is there counts, too.
  if (has_shared_ || !hints_.is_other(hint)) {
    VARVE_ASSIGN(const bool is_there, holds(fresh, true));
    if (is_there) return true;
  }
  hints_.note(hint);
  return false;
}

Result<bool> CommitPlan::put_chunk(const SaveKey& key, const Bytes& payload, const ChunkPos& pos) {
  VARVE_ASSIGN(const std::optional<Base> base, base_at(pos));
  const PayloadBase* const against = base ? &base->against : nullptr;
  if (!sharing_.wants_frames() && encoder_.leaves_as_is(payload.size())) {
    return put_apart(key, payload, base);
  }
  ByteWriter frame = frames_.take();
  bool is_whole = true;
  if (sharing_.wants_frames()) {
    VARVE_TRY(encoder_.encode(key, payload, against, frame));
  } else {
    VARVE_ASSIGN(is_whole, encoder_.encode_unless_apart(key, payload, against, frame));
  }
  give_way(payload.size());
  if (!is_whole) {
    frames_.give_back(std::move(frame), payload.size());
    return put_apart(key, payload, base);
  }
  VARVE_ASSIGN(const bool is_there, holds_chunk({key, frame.view(), false, payload, base}));
  if (is_there) {
    frames_.give_back(std::move(frame), payload.size());
    return false;
  }
  sharing_.offer(SharingPlan::OfferKind::fresh, key,
                 frames_.share(std::move(frame), payload.size()), batch_);
  return true;
}

Result<bool> CommitPlan::put_apart(const SaveKey& key, const Bytes& payload,
                                   const std::optional<Base>& base) {
  const HashedBytes hashed(payload);
  const FrameStart start = encoder_.raw_start(key, hashed, base ? &base->against : nullptr);
  give_way(payload.size());
  VARVE_ASSIGN(const bool is_there, holds_chunk({key, start, true, payload, base}));
  if (is_there) return false;
  // Both in one block: what a save of few chunks takes is memory in small pieces.
  const std::size_t key_size = key.view().size();
  const Bytes both = Bytes::copy_of(key, start);
  batch_.add({both.slice(0, key_size), BatchValue(both.slice(key_size), hashed)});
  return true;
}

Result<bool> CommitPlan::put(const SaveKey& key, const Bytes& payload, bool always) {
  ByteWriter frame = frames_.take();
  VARVE_TRY(encoder_.encode(key, payload, nullptr, frame));
  give_way(payload.size());
  if (!always) {
    VARVE_ASSIGN(const bool is_there,
                 holds({key, frame.view(), false, payload, std::nullopt}, false));
    if (is_there) {
      frames_.give_back(std::move(frame), payload.size());
      return false;
    }
  }
  batch_.put(key, frames_.share(std::move(frame), payload.size()));
  return true;
}

Result<bool> CommitPlan::erase(const SaveKey& key) {
  // One that is damaged is there.
  const auto found = view_.get_raw(key, 0);
  if (!found && found.error().code() != ErrorCode::corruption) return found.error();
  const bool is_there = !found || *found;
  if (is_there) batch_.erase(key);
  return is_there;
}

Result<bool> CommitPlan::erase_chunk(const SaveKey& key) {
  // Where nothing is shared, whether it is there is all that counts.
  if (!has_shared_) return erase(key);
  const auto head = view_.get_raw(key, kReferenceSizeMax + 1);
  VARVE_ASSIGN(const auto reference, sharing_.reference_at(key, head));
  if (reference) sharing_.release(reference->hash);
  const bool is_there = !head || *head;
  if (is_there) batch_.erase(key);
  return is_there;
}

Status CommitPlan::add_chunk(const ChunkChange& change) {
  KindStats& stats = stats_.chunks;
  if (!change.payload) {
    const auto space = tables_->number_of(change.pos.space);
    if (!space) return {};
    VARVE_ASSIGN(const bool was_there, erase_chunk(chunk_key(*space, change.pos)));
    stats.erased_count += was_there ? 1 : 0;
    return {};
  }
  VARVE_ASSIGN(const SpaceNumber space, number_for(change.pos.space));
  VARVE_ASSIGN(const bool is_new,
               put_chunk(chunk_key(space, change.pos), *change.payload, change.pos));
  stats.put_count += is_new ? 1 : 0;
  stats.put_size += is_new ? change.payload->size() : 0;
  stats.unchanged_count += is_new ? 0 : 1;
  return {};
}

Status CommitPlan::add_entity(const EntityChange& change) {
  KindStats& stats = stats_.entities;
  const RecordReader reader(view_, *tables_, is_verified_);
  auto before = reader.find_entity(change.id);
  if (!before && before.error().code() != ErrorCode::corruption) return before.error();
  const std::optional<RecordReader::EntityPlace> place = before ? *before : std::nullopt;
  const SaveKey place_key = entity_place_key(change.id);
  if (!before) {
    // Where it was is not known. What is left of it must go, or it would be there twice.
    VARVE_ASSIGN(const std::vector<Bytes> left, reader.find_entity_keys(change.id));
    for (const Bytes& key : left) batch_.erase(key);
  }
  if (!change.value) {
    if (before && !place) return {};
    if (place) VARVE_TRY(erase(entity_key_of(place->owner, change.id)));
    VARVE_TRY(erase(place_key));
    ++stats.erased_count;
    return {};
  }
  std::optional<PlacedChunk> owner;
  if (change.value->owner) {
    VARVE_ASSIGN(const SpaceNumber space, number_for(change.value->owner->space));
    owner = PlacedChunk{space, *change.value->owner};
  }
  const SaveKey key = entity_key_of(owner, change.id);
  const bool stays = place && as_text(entity_key_of(place->owner, change.id)) == as_text(key);
  // Of one whose place is damaged the data was erased just now: it is put whatever lies there.
  VARVE_ASSIGN(const bool is_new, put(key, change.value->data, !before));
  if (!stays) {
    if (place) VARVE_TRY(erase(entity_key_of(place->owner, change.id)));
    batch_.put(place_key, plain_frame(place_key, encode_place(owner)));
  }
  const bool is_changed = is_new || !stays;
  stats.put_count += is_changed ? 1 : 0;
  stats.put_size += is_changed ? change.value->data.size() : 0;
  stats.unchanged_count += is_changed ? 0 : 1;
  return {};
}

Status CommitPlan::add_named(RecordKind kind, const NamedChange& change, KindStats& stats) {
  const SaveKey key = named_key(kind, change.name);
  if (!change.data) {
    VARVE_ASSIGN(const bool was_there, erase(key));
    stats.erased_count += was_there ? 1 : 0;
    return {};
  }
  Bytes payload = *change.data;
  if (is_long_name(change.name)) {
    ByteWriter named;
    named.text(change.name);
    named.bytes(payload);
    payload = named.take();
  }
  VARVE_ASSIGN(const bool is_new, put(key, payload));
  stats.put_count += is_new ? 1 : 0;
  stats.put_size += is_new ? change.data->size() : 0;
  stats.unchanged_count += is_new ? 0 : 1;
  return {};
}

Status CommitPlan::add(const Commit& commit, Progress& progress, double share) {
  const std::size_t count =
      commit.chunks.size() + commit.entities.size() + commit.players.size() + commit.globals.size();
  batch_.reserve(count + kHeaderRecordCount);
  std::size_t done = 0;
  const auto step = [&]() -> Status {
    if (++done % 64 == 0)
      progress.report(share * static_cast<double>(done) / static_cast<double>(count));
    if (progress.is_cancelled()) return cancelled("the commit was cancelled");
    return {};
  };
  for (const ChunkChange& change : commit.chunks) {
    VARVE_TRY(add_chunk(change));
    VARVE_TRY(step());
  }
  for (const EntityChange& change : commit.entities) {
    VARVE_TRY(add_entity(change));
    VARVE_TRY(step());
  }
  for (const NamedChange& change : commit.players) {
    VARVE_TRY(add_named(RecordKind::player, change, stats_.players));
    VARVE_TRY(step());
  }
  for (const NamedChange& change : commit.globals) {
    VARVE_TRY(add_named(RecordKind::global, change, stats_.globals));
    VARVE_TRY(step());
  }
  return sharing_.finish(batch_);
}

}  // namespace varve
