#include "world/journal_recovery.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "varve/tick.h"

namespace varve {
namespace {

class Roller {
 public:
  Roller(const StoreView& store, const ChunkType& type, const Generator* generator)
      : store_(store), type_(type), generator_(generator) {}

  void apply(const TickMutations& tick);
  RollForward finish(std::uint64_t tick, const Capabilities& can);

 private:
  // A chunk on its way: as bytes until an edit wants it decoded.
  struct Rolled {
    std::optional<Bytes> payload = {};
    std::unique_ptr<Chunk> chunk = {};
    // Why it cannot be told; until it is put anew.
    std::optional<Error> error = {};
  };

  void edit(const ChunkEdit& edit, const ChunkImage* image);
  Result<std::unique_ptr<Chunk>> decode(const ChunkPos& pos, const Bytes& payload) const;
  Result<std::unique_ptr<Chunk>> base_of(const ChunkPos& pos, const ChunkImage* image) const;
  void change_entity(EntityId id, std::optional<EntityValue> value) {
    entities_.insert_or_assign(id, std::move(value));
  }
  void change_part(EntityId id, const std::function<void(EntityValue&)>& change);
  bool is_taken(const Capabilities& can, const RecordKey& key, const std::optional<ChunkPos>& owner,
                const Bytes* data);

  const StoreView& store_;
  const ChunkType& type_;
  const Generator* generator_;
  std::map<ChunkPos, Rolled> chunks_;
  std::map<EntityId, std::optional<EntityValue>> entities_;
  std::map<std::string, std::optional<Bytes>> players_;
  std::map<std::string, std::optional<Bytes>> globals_;
  std::vector<RecordProblem> problems_;
  BufferPool buffers_;
};

Result<std::unique_ptr<Chunk>> Roller::decode(const ChunkPos& pos, const Bytes& payload) const {
  Result<std::unique_ptr<Chunk>> chunk =
      guarded(ErrorCode::corruption, fmt::format("decoding it as '{}'", type_.name()),
              [&] { return type_.decode(pos, payload); });
  if (chunk && *chunk == nullptr) return corruption("its type made no chunk of it");
  return chunk;
}

// What the first edit of a chunk is made to: what the log says it was, else what is stored, else
// what the generator makes.
Result<std::unique_ptr<Chunk>> Roller::base_of(const ChunkPos& pos, const ChunkImage* image) const {
  if (image != nullptr && image->payload) return decode(pos, *image->payload);
  std::optional<Bytes> stored;
  if (image == nullptr) {
    VARVE_ASSIGN(stored, store_.read_chunk(pos));
  }
  if (stored) return decode(pos, *stored);
  if (generator_ == nullptr) {
    return not_found("an edit of a chunk that was never saved, and the world has no generator");
  }
  VARVE_ASSIGN(const Bytes made, guarded(ErrorCode::invalid_argument, "generating",
                                         [&] { return generator_->generate(pos); }));
  return decode(pos, made);
}

void Roller::edit(const ChunkEdit& edit, const ChunkImage* image) {
  const auto [at, is_new] = chunks_.try_emplace(edit.pos);
  Rolled& rolled = at->second;
  if (rolled.error) return;
  const Status done = guarded(ErrorCode::invalid_argument, "applying an edit", [&]() -> Status {
    if (rolled.chunk == nullptr) {
      // One that was erased on the way is the generator's again.
      const ChunkImage none{.pos = edit.pos};
      auto base = rolled.payload ? decode(edit.pos, *rolled.payload)
                                 : base_of(edit.pos, is_new ? image : &none);
      if (!base) return base.error();
      rolled.chunk = *std::move(base);
    }
    VARVE_TRY(rolled.chunk->apply(edit.edit));
    return {};
  });
  if (!done) rolled = {.error = done.error()};
}

// For what a tick says of a part of an entity: the rest is as it was.
void Roller::change_part(EntityId id, const std::function<void(EntityValue&)>& change) {
  const auto known = entities_.find(id);
  EntityValue value;
  if (known != entities_.end()) {
    if (known->second) value = *known->second;
  } else {
    const auto stored = store_.read_entity(id);
    if (!stored) {
      problems_.push_back({.key = entity_key(id), .error = stored.error()});
      return;
    }
    if (*stored) value = {.owner = (*stored)->owner, .data = (*stored)->data};
  }
  change(value);
  change_entity(id, std::move(value));
}

void Roller::apply(const TickMutations& tick) {
  for (const DespawnMutation& despawn : tick.despawns) change_entity(despawn.entity, std::nullopt);
  for (const SpawnMutation& spawn : tick.spawns) {
    EntityValue value{.owner = spawn.chunk};
    for (const ComponentValue& component : spawn.components) {
      if (component.component == kWholeEntity) value.data = component.value;
    }
    change_entity(spawn.entity, std::move(value));
  }
  for (const InsertMutation& insert : tick.inserts) {
    change_part(insert.entity, [&](EntityValue& value) { value.data = insert.value; });
  }
  for (const MoveMutation& move : tick.moves) {
    change_part(move.entity, [&](EntityValue& value) { value.owner = move.chunk; });
  }
  for (const ChunkPut& put : tick.puts) {
    chunks_.insert_or_assign(put.pos, Rolled{.payload = put.payload});
  }
  auto image = tick.images.begin();
  for (const ChunkEdit& each : tick.edits) {
    while (image != tick.images.end() && image->pos < each.pos) ++image;
    const bool has_image = image != tick.images.end() && image->pos == each.pos;
    edit(each, has_image ? &*image : nullptr);
  }
  for (const NamedMutation& player : tick.players)
    players_.insert_or_assign(player.name, player.data);
  for (const NamedMutation& global : tick.globals)
    globals_.insert_or_assign(global.name, global.data);
}

// What the store would refuse, as it refused it from the game: one record must not keep the world
// from being opened.
bool Roller::is_taken(const Capabilities& can, const RecordKey& key,
                      const std::optional<ChunkPos>& owner, const Bytes* data) {
  if (data == nullptr) return true;
  const Status checked = check_record(can, key, owner, data->size());
  if (!checked) problems_.push_back({.key = to_string(key), .error = checked.error()});
  return checked.has_value();
}

RollForward Roller::finish(std::uint64_t tick, const Capabilities& can) {
  RollForward out{.commit = {.tick = tick}};
  const auto bytes_of = [](const std::optional<Bytes>& data) { return data ? &*data : nullptr; };
  for (auto& [pos, rolled] : chunks_) {
    if (rolled.chunk != nullptr) {
      Result<Bytes> encoded = guarded(ErrorCode::invalid_argument, "encoding it",
                                      [&] { return rolled.chunk->encode(buffers_); });
      if (encoded) {
        rolled.payload.emplace(*std::move(encoded));
      } else {
        rolled.error = encoded.error();
      }
    }
    if (rolled.error) {
      problems_.push_back({.key = to_string(pos), .error = *rolled.error});
    } else if (is_taken(can, {.kind = RecordKind::chunk, .pos = pos}, std::nullopt,
                        bytes_of(rolled.payload))) {
      out.commit.chunks.push_back({.pos = pos, .payload = std::move(rolled.payload)});
    }
  }
  for (auto& [id, value] : entities_) {
    const std::optional<ChunkPos> owner = value ? value->owner : std::nullopt;
    if (is_taken(can, {.kind = RecordKind::entity, .id = id}, owner,
                 value ? &value->data : nullptr))
      out.commit.entities.push_back({id, std::move(value)});
  }
  for (auto& [name, data] : players_) {
    if (is_taken(can, {.kind = RecordKind::player, .name = name}, std::nullopt, bytes_of(data)))
      out.commit.players.push_back({name, std::move(data)});
  }
  for (auto& [name, data] : globals_) {
    if (is_taken(can, {.kind = RecordKind::global, .name = name}, std::nullopt, bytes_of(data)))
      out.commit.globals.push_back({name, std::move(data)});
  }
  out.problems = std::move(problems_);
  return out;
}

}  // namespace

Result<RollForward> roll_forward(const journal::TickLog& log, const Store& store,
                                 const ChunkType& type, const Generator* generator) {
  return or_out_of_memory([&]() -> Result<RollForward> {
    Roller roller(store, type, generator);
    std::uint64_t tick = store.tick();
    std::uint64_t tick_count = 0;
    const auto latest = log.latest_tick();
    std::optional<Error> damage;
    if (latest && *latest > tick) {
      const Status read = log.read(
          tick + 1, *latest + 1, [&](std::uint64_t at, const Bytes& payload) -> Result<bool> {
            VARVE_ASSIGN(const TickMutations mutations, decode_mutations(payload));
            roller.apply(mutations);
            tick = at;
            ++tick_count;
            return true;
          });
      if (!read && read.error().code() != ErrorCode::corruption) return read.error();
      if (!read) damage = read.error();
    }
    if (!damage && log.report().is_end_damaged) {
      damage = log.report().problems.empty() ? corruption("the end of the log is damaged")
                                             : log.report().problems.back();
    }
    RollForward out = roller.finish(tick, store.capabilities());
    out.tick_count = tick_count;
    out.damage = std::move(damage);
    return out;
  });
}

}  // namespace varve
