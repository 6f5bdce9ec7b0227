#include "store/varve/record_reader.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/varve/payload.h"
#include "store/varve/shared_payload.h"

namespace varve {
namespace {

// What moved is looked for again; a store that commits faster than this is not read from.
constexpr int kFindAttemptCount = 100;

}  // namespace

Result<Bytes> generate_guarded(const Generator& generator, const ChunkPos& pos) {
  return guarded(ErrorCode::invalid_argument, "generating",
                 [&] { return generator.generate(pos); });
}

Result<Bytes> RecordReader::decode(ByteView key, const Bytes& frame, const ChunkPos* pos) const {
  if (pos != nullptr && looks_like_reference(frame)) return decode_shared(key, frame, *pos);
  return decode_frame(key, frame, pos);
}

Result<Bytes> RecordReader::decode_shared(ByteView key, const Bytes& reference,
                                          const ChunkPos& pos) const {
  VARVE_ASSIGN(const Reference to, decode_reference(key, reference, is_verified_));
  const SaveKey shared_key = shared_payload_key(to.hash);
  const auto shared = view_.get(shared_key);
  if (!shared) return shared.error().with_context(shared_name(to.hash));
  if (!*shared) {
    return corruption(fmt::format("refers to {}, which is not there", shared_name(to.hash)));
  }
  auto payload = decode_frame(shared_key, **shared, &pos);
  if (payload && payload->size() != to.payload_size) {
    payload = corruption(fmt::format("has {} bytes, and a chunk that refers to it wants {}",
                                     payload->size(), to.payload_size));
  }
  if (!payload) return payload.error().with_context(shared_name(to.hash));
  return payload;
}

Result<Bytes> RecordReader::decode_frame(ByteView key, const Bytes& frame,
                                         const ChunkPos* pos) const {
  PayloadSources sources{.dictionaries = &tables_.dictionaries(),
                         .generators = &tables_.generators(),
                         .is_verified = is_verified_};
  GeneratorId id;
  std::shared_ptr<const Generator> generator = tables_.generator();
  if (pos != nullptr) {
    const auto info = inspect_payload(frame);
    if (info && info->transform == PayloadTransform::delta) {
      // A game that still has the generator of an older delta gave that one too.
      const GeneratorId* needed = tables_.generators().find(info->generator_number);
      if (needed != nullptr) {
        if (auto known = tables_.find_generator(*needed)) generator = std::move(known);
      }
    }
  }
  if (generator != nullptr && pos != nullptr) {
    id = generator->id();
    sources.generator = &id;
    sources.generate = [&] { return generate_guarded(*generator, *pos); };
  }
  return decode_payload(key, frame, sources);
}

Result<std::optional<SpaceNumber>> RecordReader::number_of(const ChunkPos& pos) const {
  const auto space = tables_.number_of(pos.space);
  if (!space && tables_.has_lost_space()) {
    return corruption(
        fmt::format("{}: the table of spaces is damaged, and this may be the one that lost its "
                    "name; verify tells more",
                    to_string(pos)));
  }
  return space;
}

Result<std::optional<Bytes>> RecordReader::read_chunk(const ChunkPos& pos) const {
  VARVE_ASSIGN(const auto space, number_of(pos));
  if (!space) return std::nullopt;
  const SaveKey key = chunk_key(*space, pos);
  std::optional<std::uint64_t> sequence;
  for (int attempt = 1;; ++attempt) {
    VARVE_ASSIGN(const std::optional<Bytes> frame, view_.get(key));
    if (!frame) return std::nullopt;
    auto payload = decode(key, *frame, &pos);
    if (payload) {
      if (hints_ != nullptr && !looks_like_reference(*frame)) {
        hints_->note_read(FrameHints::hint_of(key, *frame));
      }
      return *std::move(payload);
    }
    // Between the two reads a commit may have taken the shared payload away, with the reference.
    const bool may_have_moved =
        looks_like_reference(*frame) && attempt < kFindAttemptCount && sequence != view_.sequence();
    if (!may_have_moved) return payload.error().with_context(to_string(pos));
    sequence = view_.sequence();
  }
}

Result<std::optional<RecordReader::EntityPlace>> RecordReader::find_entity(EntityId id) const {
  const SaveKey key = entity_place_key(id);
  VARVE_ASSIGN(const std::optional<Bytes> frame, view_.get(key));
  if (!frame) return std::nullopt;
  auto place = read_plain_frame(key, *frame);
  if (!place) return place.error().with_context(entity_key(id));
  VARVE_ASSIGN(const auto owner, decode_place(*place));
  return EntityPlace{owner};
}

Result<std::vector<Bytes>> RecordReader::find_entity_keys(EntityId id) const {
  std::vector<Bytes> keys;
  RangeQuery query{.prefix = SaveKey(KeyTag::owned_entity).copy(), .values = false};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view_.range(query));
    for (const RangeEntry& entry : page.entries) {
      const auto key = decode_owned_entity_key(entry.key);
      if (key && key->id == id) keys.push_back(entry.key);
    }
    from = std::move(page.next);
  }
  const SaveKey free = entity_key_of(std::nullopt, id);
  const auto found = view_.get(free);
  if (!found || *found) keys.push_back(free.copy());
  return keys;
}

Result<std::optional<Entity>> RecordReader::read_entity(EntityId id) const {
  for (int attempt = 0; attempt < kFindAttemptCount; ++attempt) {
    VARVE_ASSIGN(const auto place, find_entity(id));
    if (!place) return std::nullopt;
    const SaveKey key = entity_key_of(place->owner, id);
    VARVE_ASSIGN(const std::optional<Bytes> frame, view_.get(key));
    // It may have moved between the two reads.
    if (!frame) continue;
    auto data = decode(key, *frame, nullptr);
    if (!data) return data.error().with_context(entity_key(id));
    Entity entity{.id = id, .owner = {}, .data = *std::move(data)};
    if (place->owner) {
      VARVE_ASSIGN(const Space space, tables_.space(place->owner->space));
      entity.owner = place->owner->pos.in(space);
    }
    return entity;
  }
  return corruption(
      fmt::format("{}: the save says where it is, and it is not there", entity_key(id)));
}

Result<Bytes> RecordReader::strip_long_name(std::string_view name, const Bytes& payload) {
  if (payload.size() < name.size() || payload.text().substr(0, name.size()) != name) {
    return corruption("another name has the same key");
  }
  return payload.slice(name.size());
}

Result<std::optional<Bytes>> RecordReader::read_named(RecordKind kind,
                                                      std::string_view name) const {
  const SaveKey key = named_key(kind, name);
  VARVE_ASSIGN(const std::optional<Bytes> frame, view_.get(key));
  if (!frame) return std::nullopt;
  auto data = decode(key, *frame, nullptr);
  if (data && is_long_name(name)) data = strip_long_name(name, *data);
  if (!data) {
    return data.error().with_context(kind == RecordKind::player ? player_key(name)
                                                                : global_key(name));
  }
  return *std::move(data);
}

Result<std::vector<Entity>> RecordReader::read_entities_of(const ChunkPos& owner) const {
  std::vector<Entity> entities;
  VARVE_ASSIGN(const auto space, number_of(owner));
  if (!space) return entities;
  RangeQuery query{.prefix = owned_entities_prefix(*space, owner).copy()};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view_.range(query));
    for (const RangeEntry& entry : page.entries) {
      VARVE_ASSIGN(const OwnedEntityKey key, decode_owned_entity_key(entry.key));
      if (!entry.value) return entry.value.error().with_context(entity_key(key.id));
      auto data = decode(entry.key, *entry.value, nullptr);
      if (!data) return data.error().with_context(entity_key(key.id));
      entities.push_back({.id = key.id, .owner = owner, .data = *std::move(data)});
    }
    from = std::move(page.next);
  }
  return entities;
}

}  // namespace varve
