#include "store/tables_store.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/commit_check.h"
#include "varve/checksum.h"

namespace varve {

SharedTables TablesStore::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Error TablesStore::closed() const {
  return invalid_argument(fmt::format("{}: the store is closed", path_));
}

template <class Call>
auto TablesStore::read(Call&& call) const -> decltype(call(std::declval<const TablesView&>())) {
  return or_out_of_memory([&]() -> decltype(call(std::declval<const TablesView&>())) {
    SharedTables tables = current();
    if (tables == nullptr) return closed();
    return call(TablesView(std::move(tables)));
  });
}

std::uint64_t TablesStore::generation() const {
  const SharedTables tables = current();
  return tables ? tables->generation : 0;
}

std::uint64_t TablesStore::tick() const {
  const SharedTables tables = current();
  return tables ? tables->tick : 0;
}

std::optional<GeneratorId> TablesStore::generator() const {
  const SharedTables tables = current();
  return tables ? tables->generator : std::nullopt;
}

Result<std::optional<Bytes>> TablesStore::read_chunk(const ChunkPos& pos) const {
  return read([&](const TablesView& view) { return view.read_chunk(pos); });
}

Result<std::optional<Entity>> TablesStore::read_entity(EntityId id) const {
  return read([&](const TablesView& view) { return view.read_entity(id); });
}

Result<std::vector<Entity>> TablesStore::read_entities_of(const ChunkPos& owner) const {
  return read([&](const TablesView& view) { return view.read_entities_of(owner); });
}

Result<std::optional<Bytes>> TablesStore::read_player(std::string_view id) const {
  return read([&](const TablesView& view) { return view.read_player(id); });
}

Result<std::optional<Bytes>> TablesStore::read_global(std::string_view name) const {
  return read([&](const TablesView& view) { return view.read_global(name); });
}

Status TablesStore::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return read([&](const TablesView& view) { return view.list_chunks(filter, visit); });
}

Status TablesStore::list_entities(const ChunkFilter& filter,
                                  const Visitor<EntityInfo>& visit) const {
  return read([&](const TablesView& view) { return view.list_entities(filter, visit); });
}

Status TablesStore::list_players(const Visitor<NamedInfo>& visit) const {
  return read([&](const TablesView& view) { return view.list_players(visit); });
}

Status TablesStore::list_globals(const Visitor<NamedInfo>& visit) const {
  return read([&](const TablesView& view) { return view.list_globals(visit); });
}

Result<CommitStats> TablesStore::commit(const Commit& commit, Progress& progress) {
  return or_out_of_memory([&]() -> Result<CommitStats> {
    const SharedTables before = current();
    if (before == nullptr) return closed();
    VARVE_TRY(check_commit(commit, capabilities_, before->tick));
    VARVE_ASSIGN(NextTables made, next_tables(before, commit, progress, 0.5));
    if (progress.is_cancelled()) return cancelled("the commit was cancelled");
    if (made.tables != before) {
      VARVE_ASSIGN(made.stats.written_size,
                   publish({before, made.tables, commit, made.stats, progress}));
      const std::lock_guard lock(mutex_);
      // `before` outlives the lock: what nobody sees any more is freed after it.
      current_ = std::move(made.tables);
    }
    progress.report(1);
    return made.stats;
  });
}

Result<std::unique_ptr<StoreView>> TablesStore::pin() {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<StoreView>> {
    SharedTables tables = current();
    if (tables == nullptr) return closed();
    if (!capabilities_.pins) {
      return unsupported(
          fmt::format("the format {} cannot hold a generation", capabilities_.format));
    }
    return std::make_unique<TablesView>(std::move(tables));
  });
}

Status TablesStore::quarantine(const RecordKey&) {
  return or_out_of_memory([&]() -> Status {
    if (current() == nullptr) return closed();
    return {};
  });
}

Result<VerifyReport> TablesStore::verify(Progress& progress) const {
  return or_out_of_memory([&]() -> Result<VerifyReport> {
    const SharedTables tables = current();
    if (tables == nullptr) return closed();
    VerifyReport report;
    std::uint64_t sum = 0;
    const auto check = [&](const Bytes& payload) {
      // There is nothing to compare with, but memory that cannot be read shows.
      sum ^= xxh3(payload);
      if (++report.record_count % 512 != 0) return true;
      progress.report(static_cast<double>(report.record_count) /
                      static_cast<double>(tables->record_count()));
      return !progress.is_cancelled();
    };
    const auto record = [&](const auto&, const Bytes& payload) { return check(payload); };
    const auto entity = [&](EntityId id, const EntityValue& value) {
      if (value.owner && !tables->entities_by_owner.find(OwnedEntity{*value.owner, id})) {
        report.problems.push_back({entity_key(id), corruption("its owner does not know of it")});
      }
      return check(value.data);
    };
    const bool finished = tables->chunks.visit(record) && tables->entities.visit(entity) &&
                          tables->players.visit(record) && tables->globals.visit(record);
    if (!finished || progress.is_cancelled()) return cancelled("the check was cancelled");
    progress.report(1);
    return report;
  });
}

Result<CompactReport> TablesStore::compact(Progress& progress) {
  return or_out_of_memory([&]() -> Result<CompactReport> {
    const SharedTables tables = current();
    if (tables == nullptr) return closed();
    const std::uint64_t size = tables->payload_size();
    progress.report(1);
    return CompactReport{.size_before = size, .size_after = size};
  });
}

Status TablesStore::close() {
  return or_out_of_memory([&]() -> Status {
    SharedTables last;
    {
      const std::lock_guard lock(mutex_);
      last.swap(current_);
    }
    if (last == nullptr) return closed();
    return release();
  });
}

}  // namespace varve
