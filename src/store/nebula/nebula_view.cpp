#include "store/nebula/nebula_view.h"

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/save_files.h"
#include "store/tables_view.h"

namespace varve::nebula {

Result<std::optional<Bytes>> NebulaView::read(const RecordKey& key) const {
  return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
    SharedGeneration at = generation_;
    for (;;) {
      const FileEntry* entry = at->files.find(key);
      if (entry == nullptr || entry->placeholder) return std::nullopt;
      auto payload = read_payload(vfs_, layout_, key, *entry);
      if (payload) return *std::move(payload);
      if (payload.error().code() != ErrorCode::corruption) return payload.error();
      // A commit may have replaced the file while we looked for it.
      VARVE_ASSIGN(const SharedGeneration newer, newer_(at));
      if (newer == nullptr) return payload.error();
      const FileEntry* now = newer->files.find(key);
      if (now != nullptr && *now == *entry) return payload.error();
      at = newer;
    }
  });
}

Result<std::optional<Bytes>> NebulaView::read_chunk(const ChunkPos& pos) const {
  return read({.kind = RecordKind::chunk, .pos = pos});
}

Result<std::optional<Bytes>> NebulaView::read_player(std::string_view id) const {
  return read({.kind = RecordKind::player, .name = std::string(id)});
}

Result<std::optional<Bytes>> NebulaView::read_global(std::string_view name) const {
  return read({.kind = RecordKind::global, .name = std::string(name)});
}

Result<std::optional<Entity>> NebulaView::read_entity(EntityId id) const {
  if (generation_->scene->damage) return *generation_->scene->damage;
  return TablesView(generation_->scene->tables).read_entity(id);
}

Result<std::vector<Entity>> NebulaView::read_entities_of(const ChunkPos& owner) const {
  if (generation_->scene->damage) return *generation_->scene->damage;
  return TablesView(generation_->scene->tables).read_entities_of(owner);
}

Status NebulaView::list_entities(const ChunkFilter& filter,
                                 const Visitor<EntityInfo>& visit) const {
  if (generation_->scene->damage) return *generation_->scene->damage;
  return TablesView(generation_->scene->tables).list_entities(filter, visit);
}

Status NebulaView::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return or_out_of_memory([&]() -> Status {
    Status failure;
    generation_->files.chunks.visit([&](const ChunkPos& pos, const FileEntry& entry) {
      if (!filter.admits(pos)) return true;
      const auto size = payload_size(vfs_, layout_, {.kind = RecordKind::chunk, .pos = pos}, entry);
      if (!size) failure = size.error();
      return size && visit({pos, *size});
    });
    return failure;
  });
}

Status NebulaView::list_named(RecordKind kind, const Visitor<NamedInfo>& visit) const {
  return or_out_of_memory([&]() -> Status {
    const SaveIndex& files = generation_->files;
    const auto& table = kind == RecordKind::player ? files.players : files.globals;
    Status failure;
    table.visit([&](const std::string& name, const FileEntry& entry) {
      if (entry.placeholder) return true;
      const auto size = payload_size(vfs_, layout_, {.kind = kind, .name = name}, entry);
      if (!size) failure = size.error();
      return size && visit({name, *size});
    });
    return failure;
  });
}

Status NebulaView::list_players(const Visitor<NamedInfo>& visit) const {
  return list_named(RecordKind::player, visit);
}

Status NebulaView::list_globals(const Visitor<NamedInfo>& visit) const {
  return list_named(RecordKind::global, visit);
}

}  // namespace varve::nebula
