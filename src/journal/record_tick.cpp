#include "journal/record_tick.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace varve::journal {
namespace {

using Kind = RecordChange::Kind;

// What shares a block with others is copied up to this size; a copy of more costs more than the
// block it would free.
constexpr std::size_t kCopySizeMax = 4096;

Bytes own(const Bytes& bytes) {
  return bytes.size() <= kCopySizeMax ? Bytes::copy_of(bytes.view()) : bytes;
}

RecordValue value_of(const std::optional<Bytes>& data) {
  if (!data) return std::nullopt;
  return EntityValue{.owner = {}, .data = own(*data)};
}

std::string author_of(const TickMutations& m, AuthorIndex author) {
  return author == 0 || author > m.authors.size() ? std::string() : m.authors[author - 1];
}

// The element of a sorted list, or nullptr.
template <class List, class Key, class Projection>
auto find_in(const List& list, const Key& key, Projection projection) -> decltype(list.data()) {
  const auto found = std::ranges::lower_bound(list, key, std::less<>(), projection);
  if (found == list.end() || key < std::invoke(projection, *found)) return nullptr;
  return &*found;
}

constexpr auto kOrder = [](const auto& about) { return entity_order(about.entity); };

void find_chunk(const TickMutations& m, const ChunkPos& pos, RecordTick& out) {
  if (const ChunkImage* image = find_in(m.images, pos, &ChunkImage::pos)) {
    out.image = value_of(image->payload);
  }
  if (const ChunkPut* put = find_in(m.puts, pos, &ChunkPut::pos)) {
    out.changes.push_back(
        {.kind = Kind::put, .author = author_of(m, put->author), .value = value_of(put->payload)});
  }
  const auto edits = std::ranges::equal_range(m.edits, pos, std::less<>(), &ChunkEdit::pos);
  for (const ChunkEdit& edit : edits) {
    out.changes.push_back(
        {.kind = Kind::edit, .author = author_of(m, edit.author), .data = own(edit.edit)});
  }
}

Bytes whole_of(const SpawnMutation& spawn) {
  const ComponentValue* whole = find_in(spawn.components, kWholeEntity, &ComponentValue::component);
  return whole == nullptr ? Bytes() : own(whole->value);
}

void find_entity(const TickMutations& m, EntityId id, RecordTick& out) {
  const std::uint64_t order = entity_order(id);
  if (const EntityImage* image = find_in(m.entity_images, order, kOrder)) {
    out.image = RecordValue();
    if (image->was_there) *out.image = EntityValue{image->chunk, own(image->data)};
  }
  if (const DespawnMutation* gone = find_in(m.despawns, order, kOrder)) {
    out.changes.push_back({.kind = Kind::put, .author = author_of(m, gone->author)});
  }
  if (const SpawnMutation* spawn = find_in(m.spawns, order, kOrder)) {
    out.changes.push_back({.kind = Kind::put,
                           .author = author_of(m, spawn->author),
                           .value = EntityValue{spawn->chunk, whole_of(*spawn)}});
  }
  // By component, then entity, and the whole is the first component.
  const auto insert = std::ranges::lower_bound(
      m.inserts, std::pair(kWholeEntity, order), std::less<>(),
      [](const InsertMutation& i) { return std::pair(i.component, entity_order(i.entity)); });
  if (insert != m.inserts.end() && insert->component == kWholeEntity && insert->entity == id) {
    out.changes.push_back(
        {.kind = Kind::bytes, .author = author_of(m, insert->author), .data = own(insert->value)});
  }
  if (const MoveMutation* move = find_in(m.moves, order, kOrder)) {
    out.changes.push_back(
        {.kind = Kind::owner, .author = author_of(m, move->author), .owner = move->chunk});
  }
}

void find_named(const TickMutations& m, const std::vector<NamedImage>& images,
                const std::vector<NamedMutation>& list, const std::string& name, RecordTick& out) {
  if (const NamedImage* image = find_in(images, name, &NamedImage::name)) {
    out.image = value_of(image->data);
  }
  if (const NamedMutation* change = find_in(list, name, &NamedMutation::name)) {
    out.changes.push_back({.kind = Kind::put,
                           .author = author_of(m, change->author),
                           .value = value_of(change->data)});
  }
}

}  // namespace

RecordTick record_in(std::uint64_t tick, const TickMutations& mutations, const RecordKey& key) {
  RecordTick out{.tick = tick};
  switch (key.kind) {
    case RecordKind::chunk:
      find_chunk(mutations, key.pos, out);
      break;
    case RecordKind::entity:
      find_entity(mutations, key.id, out);
      break;
    case RecordKind::player:
      find_named(mutations, mutations.player_images, mutations.players, key.name, out);
      break;
    case RecordKind::global:
      find_named(mutations, mutations.global_images, mutations.globals, key.name, out);
      break;
  }
  return out;
}

}  // namespace varve::journal
