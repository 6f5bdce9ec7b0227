#include "journal/past_world.h"

#include <algorithm>
#include <map>

#include "base/guarded.h"
#include "base/try.h"
#include "varve/components.h"

namespace varve::journal {
namespace {

class PastWorldImpl final : public PastWorld {
 public:
  PastWorldImpl(const RecordPast& past, std::uint64_t tick) : past_(past), tick_(tick) {}

  std::uint64_t tick() const override { return tick_; }

  Result<std::optional<Bytes>> chunk(const ChunkPos& pos) const override {
    return bytes_of(chunk_key(pos));
  }
  Result<std::optional<Bytes>> player(std::string_view id) const override {
    return named(RecordKind::player, id);
  }
  Result<std::optional<Bytes>> global(std::string_view name) const override {
    return named(RecordKind::global, name);
  }

  Result<std::optional<Entity>> entity(EntityId id) const override {
    return or_out_of_memory([&] { return entity_of(id, {}); });
  }

  Result<std::optional<Bytes>> component(EntityId id, ComponentId component) const override {
    return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
      VARVE_ASSIGN(const auto found, entity(id));
      if (!found) return std::nullopt;
      const auto set = ComponentSet::decode(found->data);
      if (!set) return set.error().with_context(entity_key(id));
      const Bytes* value = set->find(component);
      if (value == nullptr) return std::nullopt;
      return *value;
    });
  }

  Result<std::vector<Entity>> entities_in(const ChunkBox& box) const override {
    return or_out_of_memory([&]() -> Result<std::vector<Entity>> {
      std::vector<Entity> entities;
      VARVE_TRY(visit_entities({.space = {}, .box = box}, [&](const Entity& found) {
        if (found.owner && box.contains(*found.owner)) entities.push_back(found);
        return true;
      }));
      return entities;
    });
  }

  Status for_each_entity(const std::function<bool(const Entity&)>& visit) const override {
    return or_out_of_memory([&] { return visit_entities({}, visit); });
  }

 private:
  Result<std::optional<Bytes>> bytes_of(const RecordKey& key) const {
    return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
      VARVE_ASSIGN(RecordValue value, past_.at(key, tick_));
      if (!value) return std::nullopt;
      return std::move(value->data);
    });
  }
  Result<std::optional<Bytes>> named(RecordKind kind, std::string_view name) const {
    return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
      VARVE_TRY(check_name(name));
      return bytes_of({.kind = kind, .name = std::string(name)});
    });
  }

  Result<std::optional<Entity>> entity_of(EntityId id, const KnownTicks& known) const {
    VARVE_ASSIGN(RecordValue value, past_.at(entity_key_of(id), tick_, known));
    if (!value) return std::nullopt;
    return Entity{.id = id, .owner = value->owner, .data = std::move(value->data)};
  }

  // Data that belongs to no entity says nothing of the past of the others. A format that has lost
  // all its entities cannot list a part of them either.
  Status list_stored(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const {
    const Status listed = past_.store().list_entities(filter, visit);
    const bool may_be_strays =
        !listed && listed.error().code() == ErrorCode::corruption && !filter.space && !filter.box;
    if (!may_be_strays) return listed;
    return past_.store().list_entities({.space = Space(), .box = {}},
                                       [](const EntityInfo&) { return false; });
  }

  // Those a filter may admit: what is stored inside it now, and what was touched between what is
  // stored and the tick, whichever comes first.
  Status visit_entities(const ChunkFilter& filter,
                        const std::function<bool(const Entity&)>& visit) const {
    // All that at() may ask for, so that nothing is looked up for what is not among it.
    TickRange range{.from = std::min(past_.stretch_start(tick_), past_.store().tick() + 1)};
    std::vector<EntityId> stored;
    VARVE_TRY(list_stored(filter, [&](const EntityInfo& info) {
      stored.push_back(info.id);
      return true;
    }));
    // Behind the listing: what was moved out of it meanwhile is logged by now.
    range.to = past_.latest_tick() + 1;
    std::map<EntityId, std::optional<Entity>> touched;
    VARVE_TRY(past_.for_each_touched(
        range, [&](const RecordKey& key, const KnownTicks& known) -> Result<bool> {
          if (key.kind != RecordKind::entity) return key.kind < RecordKind::entity;
          VARVE_ASSIGN(touched[key.id], entity_of(key.id, known));
          return true;
        }));
    std::ranges::sort(stored);
    auto next = touched.begin();
    const auto visit_before = [&](std::optional<EntityId> id) {
      for (; next != touched.end() && (!id || next->first < *id); ++next) {
        if (next->second && !visit(*next->second)) return false;
      }
      return true;
    };
    for (const EntityId id : stored) {
      if (!visit_before(id)) return {};
      if (next != touched.end() && next->first == id) continue;
      VARVE_ASSIGN(const auto found, entity_of(id, {.range = range}));
      if (found && !visit(*found)) return {};
    }
    visit_before(std::nullopt);
    return {};
  }

  const RecordPast& past_;
  const std::uint64_t tick_;
};

}  // namespace

RecordKey chunk_key(const ChunkPos& pos) { return {.kind = RecordKind::chunk, .pos = pos}; }
RecordKey entity_key_of(EntityId id) { return {.kind = RecordKind::entity, .id = id}; }

std::unique_ptr<PastWorld> make_past_world(const RecordPast& past, std::uint64_t tick) {
  return std::make_unique<PastWorldImpl>(past, tick);
}

}  // namespace varve::journal
