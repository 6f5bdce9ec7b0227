#include "tool/records.h"

namespace varve::tool {
namespace {

Result<std::optional<Record>> as_record(Result<std::optional<Bytes>> data) {
  if (!data) return data.error();
  if (!*data) return std::optional<Record>();
  return std::optional(Record{.owner = {}, .data = **std::move(data)});
}

// Lists one kind after the other until one fails or the visitor has had enough.
class Listing {
 public:
  Listing(const StoreView& view, const RecordFilter& filter,
          const std::function<bool(const RecordInfo&)>& visit)
      : view_(view), filter_(filter), visit_(visit) {}

  Result<std::vector<RecordProblem>> run() {
    std::vector<RecordProblem> problems;
    for (const RecordKind kind : kKinds) {
      if (stopped_ || !filter_.admits(kind)) continue;
      const Status listed = list(kind);
      if (listed) continue;
      if (!is_of_record(listed.error())) return listed.error();
      problems.push_back({.key = std::string(to_string(kind)) + ":*", .error = listed.error()});
    }
    return problems;
  }

 private:
  Status list(RecordKind kind) {
    const auto named = [&](const NamedInfo& info) {
      return visit({.key = {.kind = kind, .name = info.name}, .owner = {}, .size = info.data_size});
    };
    switch (kind) {
      case RecordKind::chunk:
        return view_.list_chunks(filter_.place, [&](const ChunkInfo& info) {
          return visit(
              {.key = {.kind = kind, .pos = info.pos}, .owner = {}, .size = info.payload_size});
        });
      case RecordKind::entity:
        return view_.list_entities(filter_.place, [&](const EntityInfo& info) {
          return visit(
              {.key = {.kind = kind, .id = info.id}, .owner = info.owner, .size = info.data_size});
        });
      case RecordKind::player:
        return view_.list_players(named);
      case RecordKind::global:
        return view_.list_globals(named);
    }
    return {};
  }

  bool visit(const RecordInfo& info) {
    stopped_ = !visit_(info);
    return !stopped_;
  }

  const StoreView& view_;
  const RecordFilter& filter_;
  const std::function<bool(const RecordInfo&)>& visit_;
  bool stopped_ = false;
};

}  // namespace

bool is_of_record(const Error& error) {
  return error.code() == ErrorCode::corruption || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::io;
}

bool RecordFilter::admits(RecordKind of) const noexcept {
  const bool has_place = of == RecordKind::chunk || of == RecordKind::entity;
  return (!kind || *kind == of) && (has_place || (!place.space && !place.box));
}

Result<std::vector<RecordProblem>> list_records(
    const StoreView& view, const RecordFilter& filter,
    const std::function<bool(const RecordInfo&)>& visit) {
  return Listing(view, filter, visit).run();
}

Result<std::uint64_t> count_records(const StoreView& view) {
  std::uint64_t count = 0;
  const auto listed = list_records(view, {}, [&](const RecordInfo&) { return ++count, true; });
  if (!listed) return listed.error();
  return count;
}

Result<std::optional<Record>> read_record(const StoreView& view, const RecordKey& key) {
  switch (key.kind) {
    case RecordKind::chunk:
      return as_record(view.read_chunk(key.pos));
    case RecordKind::entity: {
      auto entity = view.read_entity(key.id);
      if (!entity) return entity.error();
      if (!*entity) return std::optional<Record>();
      return std::optional(Record{.owner = (*entity)->owner, .data = std::move((*entity)->data)});
    }
    case RecordKind::player:
      return as_record(view.read_player(key.name));
    case RecordKind::global:
      return as_record(view.read_global(key.name));
  }
  return std::optional<Record>();
}

void add_change(Commit& commit, const RecordKey& key, std::optional<Record> record) {
  std::optional<Bytes> data;
  if (record) data = record->data;
  switch (key.kind) {
    case RecordKind::chunk:
      commit.chunks.push_back({.pos = key.pos, .payload = std::move(data)});
      break;
    case RecordKind::entity: {
      std::optional<EntityValue> value;
      if (record) value = EntityValue{.owner = record->owner, .data = *std::move(data)};
      commit.entities.push_back({.id = key.id, .value = std::move(value)});
      break;
    }
    case RecordKind::player:
      commit.players.push_back({.name = key.name, .data = std::move(data)});
      break;
    case RecordKind::global:
      commit.globals.push_back({.name = key.name, .data = std::move(data)});
      break;
  }
}

Status keep_aside_if_damaged(Store& store, const RecordKey& key) {
  const auto record = read_record(store, key);
  if (record || record.error().code() != ErrorCode::corruption) return {};
  // Some formats have all entities in one place: to replace one would be to replace them all. A
  // listing of a part fails there too, and nowhere for a record that belongs to no entity.
  if (key.kind == RecordKind::entity &&
      !store.list_entities({.space = Space(), .box = {}}, [](const auto&) { return false; })) {
    return corruption(record.error().message() +
                      "; the entities cannot be changed one by one before that is mended");
  }
  return store.quarantine(key);
}

}  // namespace varve::tool
