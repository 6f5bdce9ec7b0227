#include "store/nebula/nebula_view.h"

#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "store/chunk_range.h"
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
      // Without a checksum nothing tells that a writer beside us did not replace it.
      if (payload && !entry->checked) VARVE_TRY(newer_(at));
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

Result<std::optional<Bytes>> NebulaView::read_named(RecordKind kind, std::string_view name) const {
  return or_out_of_memory([&] { return read({.kind = kind, .name = std::string(name)}); });
}

Result<std::optional<Bytes>> NebulaView::read_player(std::string_view id) const {
  return read_named(RecordKind::player, id);
}

Result<std::optional<Bytes>> NebulaView::read_global(std::string_view name) const {
  return read_named(RecordKind::global, name);
}

template <class Call>
auto NebulaView::with_entities(Call&& call) const
    -> decltype(call(std::declval<const TablesView&>())) {
  return or_out_of_memory([&]() -> decltype(call(std::declval<const TablesView&>())) {
    if (generation_->scene->damage) return *generation_->scene->damage;
    return call(TablesView(generation_->scene->tables));
  });
}

Result<std::optional<Entity>> NebulaView::read_entity(EntityId id) const {
  return with_entities([&](const TablesView& view) { return view.read_entity(id); });
}

Result<std::vector<Entity>> NebulaView::read_entities_of(const ChunkPos& owner) const {
  return with_entities([&](const TablesView& view) { return view.read_entities_of(owner); });
}

Status NebulaView::list_entities(const ChunkFilter& filter,
                                 const Visitor<EntityInfo>& visit) const {
  return with_entities([&](const TablesView& view) { return view.list_entities(filter, visit); });
}

Status NebulaView::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return or_out_of_memory([&]() -> Status {
    Status failure;
    const auto& chunks = generation_->files.chunks;
    chunks.visit_from(first_of(filter), [&](const ChunkPos& pos, const FileEntry& entry) {
      if (is_behind(filter, pos)) return false;
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
