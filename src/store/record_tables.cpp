#include "store/record_tables.h"

#include "base/try.h"

namespace varve {
namespace {

// Comparing costs nothing where a game hands back the bytes it was given.
bool same(const Bytes& a, const Bytes& b) noexcept {
  return (a.data() == b.data() && a.size() == b.size()) || a == b;
}
bool same(const EntityValue& a, const EntityValue& b) noexcept {
  return a.owner == b.owner && same(a.data, b.data);
}

// Where in a long commit we are, told now and then.
class Steps {
 public:
  Steps(const Commit& commit, Progress& progress, double share)
      : count_(commit.chunks.size() + commit.entities.size() + commit.players.size() +
               commit.globals.size()),
        progress_(progress),
        share_(share) {}

  Status next() {
    if (++done_ % 512 != 0) return {};
    if (progress_.is_cancelled()) return cancelled("the commit was cancelled");
    progress_.report(share_ * static_cast<double>(done_) / static_cast<double>(count_));
    return {};
  }

 private:
  std::uint64_t done_ = 0;
  std::uint64_t count_;
  Progress& progress_;
  double share_;
};

// Counts a change and says whether it must be made. `old` is null if nothing is there.
template <class Value>
bool counts(const Value* old, const std::optional<Value>& value, std::uint64_t size,
            KindStats& stats) {
  if (!value) {
    stats.erased_count += old != nullptr ? 1 : 0;
    return old != nullptr;
  }
  if (old != nullptr && same(*old, *value)) {
    ++stats.unchanged_count;
    return false;
  }
  ++stats.put_count;
  stats.put_size += size;
  return true;
}

template <class Key>
void change(PersistentMap<Key, Bytes>& table, const MapEdit& edit, const Key& key,
            const std::optional<Bytes>& value, KindStats& stats) {
  if (!counts(table.find(key), value, value ? value->size() : 0, stats)) return;
  if (value) {
    table.put(edit, key, *value);
  } else {
    table.erase(edit, key);
  }
}

bool changed_anything(const CommitStats& stats) {
  std::uint64_t count = 0;
  for (const KindStats* kind : {&stats.chunks, &stats.entities, &stats.players, &stats.globals}) {
    count += kind->put_count + kind->erased_count;
  }
  return count > 0;
}

}  // namespace

void RecordTables::put_entity(const MapEdit& edit, EntityId id, EntityValue value) {
  const EntityValue* old = entities.find(id);
  if (old != nullptr && old->owner && old->owner != value.owner) {
    entities_by_owner.erase(edit, OwnedEntity{*old->owner, id});
  }
  if (value.owner) entities_by_owner.put(edit, OwnedEntity{*value.owner, id}, {});
  entities.put(edit, id, std::move(value));
}

bool RecordTables::erase_entity(const MapEdit& edit, EntityId id) {
  const EntityValue* old = entities.find(id);
  if (old == nullptr) return false;
  if (old->owner) entities_by_owner.erase(edit, OwnedEntity{*old->owner, id});
  return entities.erase(edit, id);
}

std::uint64_t RecordTables::payload_size() const {
  std::uint64_t size = 0;
  const auto add = [&](const auto&, const Bytes& payload) {
    size += payload.size();
    return true;
  };
  chunks.visit(add);
  players.visit(add);
  globals.visit(add);
  entities.visit([&](EntityId, const EntityValue& value) {
    size += value.data.size();
    return true;
  });
  return size;
}

Result<NextTables> next_tables(const SharedTables& before, const Commit& commit, Progress& progress,
                               double share) {
  const MapEdit edit;
  auto next = std::make_shared<RecordTables>(*before);
  CommitStats stats;
  Steps steps(commit, progress, share);
  for (const ChunkChange& chunk : commit.chunks) {
    VARVE_TRY(steps.next());
    change(next->chunks, edit, chunk.pos, chunk.payload, stats.chunks);
  }
  for (const EntityChange& entity : commit.entities) {
    VARVE_TRY(steps.next());
    const std::uint64_t size = entity.value ? entity.value->data.size() : 0;
    if (!counts(next->entities.find(entity.id), entity.value, size, stats.entities)) continue;
    if (entity.value) {
      next->put_entity(edit, entity.id, *entity.value);
    } else {
      next->erase_entity(edit, entity.id);
    }
  }
  for (const NamedChange& player : commit.players) {
    VARVE_TRY(steps.next());
    change(next->players, edit, player.name, player.data, stats.players);
  }
  for (const NamedChange& global : commit.globals) {
    VARVE_TRY(steps.next());
    change(next->globals, edit, global.name, global.data, stats.globals);
  }

  const bool other_generator = commit.generator && commit.generator != before->generator;
  if (!changed_anything(stats) && !other_generator && commit.tick == before->tick) {
    stats.generation = before->generation;
    return NextTables{before, stats};
  }
  if (commit.generator) next->generator = commit.generator;
  next->tick = commit.tick;
  next->generation = before->generation + 1;
  stats.generation = next->generation;
  return NextTables{std::move(next), stats};
}

}  // namespace varve
