#include "journal/world_history.h"

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/past_world.h"
#include "journal/record_past.h"
#include "journal/rollback_plan.h"

namespace varve::journal {
namespace {

bool may_be_inside(const RecordKey& key, const ChunkBox& box) {
  return key.kind == RecordKind::entity || (key.kind == RecordKind::chunk && box.contains(key.pos));
}
// Of an entity it is where it stands that counts.
bool is_inside(const RecordKey& key, const RecordValue& value, const ChunkBox& box) {
  return key.kind == RecordKind::chunk || (value && value->owner && box.contains(*value->owner));
}

class WorldHistoryImpl final : public WorldHistory {
 public:
  explicit WorldHistoryImpl(HistorySource source) : past_(std::move(source)) {}

  std::string_view chunk_type_name() const override { return past_.making().type_name; }
  std::uint64_t oldest_tick() const override { return past_.oldest_tick(); }
  std::uint64_t latest_tick() const override { return past_.latest_tick(); }
  std::uint64_t decoded_count() const override { return past_.decoded_count(); }

  Result<std::unique_ptr<PastWorld>> at_tick(std::uint64_t tick) const override {
    return or_out_of_memory([&]() -> Result<std::unique_ptr<PastWorld>> {
      VARVE_TRY(past_.check(tick));
      return make_past_world(past_, tick);
    });
  }

  Result<std::vector<EntityEvent>> entity_history(EntityId id,
                                                  const TickRange& range) const override {
    return or_out_of_memory([&] { return entity_events(entity_key_of(id), range); });
  }
  Result<std::vector<ChunkEvent>> chunk_history(const ChunkPos& pos,
                                                const TickRange& range) const override {
    return or_out_of_memory([&] { return chunk_events(chunk_key(pos), range); });
  }
  Result<std::vector<CellEvent>> block_history(const ChunkPos& pos, ByteView cell,
                                               const TickRange& range) const override {
    return or_out_of_memory([&] { return cell_events(chunk_key(pos), cell, range); });
  }

  Result<std::optional<std::uint64_t>> find_tick(
      const TickRange& range,
      const std::function<Result<bool>(const PastWorld&)>& holds) const override {
    return or_out_of_memory([&] { return first_tick_of(range, holds); });
  }
  Result<std::vector<RecordDifference>> diff(std::uint64_t before, std::uint64_t after,
                                             const std::optional<ChunkBox>& box) const override {
    return or_out_of_memory([&] { return differences(before, after, box); });
  }
  Result<RollbackPlan> plan_rollback(const RollbackRequest& request) const override {
    return or_out_of_memory([&] { return journal::plan_rollback(past_, request); });
  }

  Status for_each_tick(
      const TickRange& range,
      const std::function<bool(std::uint64_t, const TickMutations&)>& visit) const override {
    return or_out_of_memory([&]() -> Status {
      VARVE_ASSIGN(const TickRange ticks, past_.clamp(range));
      return past_.ticks().for_each(ticks.from, ticks.to,
                                    [&](std::uint64_t tick, const TickMutations& mutations) {
                                      return Result<bool>(visit(tick, mutations));
                                    });
    });
  }

 private:
  Result<std::vector<EntityEvent>> entity_events(const RecordKey& key,
                                                 const TickRange& range) const {
    std::vector<EntityEvent> events;
    std::optional<RecordFold> entity;
    VARVE_ASSIGN(const TickRange ticks, past_.clamp(range));
    VARVE_TRY(past_.for_each_change(key, ticks, [&](const RecordTick& changed) -> Result<bool> {
      if (changed.changes.empty()) return true;
      if (!entity) {
        VARVE_ASSIGN(RecordValue before, past_.before(key, changed));
        entity.emplace(past_.fold(key, std::move(before)));
      }
      for (const RecordChange& change : changed.changes) VARVE_TRY(entity->apply(change));
      EntityEvent& event = events.emplace_back();
      event.tick = changed.tick;
      event.author = changed.changes.back().author;
      VARVE_ASSIGN(event.value, entity->value());
      return true;
    }));
    return events;
  }

  Result<std::vector<ChunkEvent>> chunk_events(const RecordKey& key, const TickRange& range) const {
    std::vector<ChunkEvent> events;
    VARVE_ASSIGN(const TickRange ticks, past_.clamp(range));
    VARVE_TRY(past_.for_each_change(key, ticks, [&](const RecordTick& changed) -> Result<bool> {
      for (const RecordChange& change : changed.changes) {
        using Kind = ChunkEvent::Kind;
        const bool is_edit = change.kind == RecordChange::Kind::edit;
        events.push_back({.tick = changed.tick,
                          .author = change.author,
                          .kind = is_edit        ? Kind::edit
                                  : change.value ? Kind::put
                                                 : Kind::erase,
                          .edit = change.data});
      }
      return true;
    }));
    return events;
  }

  Result<std::vector<CellEvent>> cell_events(const RecordKey& key, ByteView cell,
                                             const TickRange& range) const {
    std::vector<CellEvent> events;
    std::optional<RecordFold> chunk;
    std::optional<Bytes> last;
    VARVE_ASSIGN(const TickRange ticks, past_.clamp(range));
    VARVE_TRY(past_.for_each_change(key, ticks, [&](const RecordTick& changed) -> Result<bool> {
      if (!chunk) {
        VARVE_ASSIGN(RecordValue before, past_.before(key, changed));
        chunk.emplace(past_.fold(key, std::move(before)));
        VARVE_ASSIGN(last, chunk->cell(cell));
      }
      for (const RecordChange& change : changed.changes) {
        VARVE_TRY(chunk->apply(change));
        auto value = chunk->cell(cell);
        if (!value) return std::move(value).error();
        if (*value == last) continue;
        last = *std::move(value);
        events.push_back({.tick = changed.tick, .author = change.author, .value = last});
      }
      return true;
    }));
    return events;
  }

  Result<std::optional<std::uint64_t>> first_tick_of(
      const TickRange& range, const std::function<Result<bool>(const PastWorld&)>& holds) const {
    VARVE_ASSIGN(const TickRange ticks, past_.clamp(range));
    // A stretch at a time: the log is not kept from its writer while the game looks.
    for (std::uint64_t from = ticks.from; from < ticks.to;) {
      const std::uint64_t to = std::min(ticks.to, from + kLookTicks);
      std::vector<std::uint64_t> changed;
      if (from == ticks.from) changed.push_back(from);
      VARVE_TRY(past_.ticks().for_each_number(from, to, [&](std::uint64_t tick) {
        if (changed.empty() || changed.back() != tick) changed.push_back(tick);
      }));
      for (const std::uint64_t tick : changed) {
        VARVE_ASSIGN(const bool is_it, holds(*make_past_world(past_, tick)));
        if (is_it) return tick;
      }
      from = to;
    }
    return std::nullopt;
  }

  Result<std::vector<RecordDifference>> differences(std::uint64_t before, std::uint64_t after,
                                                    const std::optional<ChunkBox>& box) const {
    VARVE_TRY(past_.check(before));
    VARVE_TRY(past_.check(after));
    const auto [low, high] = std::minmax(before, after);
    std::vector<RecordDifference> found;
    VARVE_TRY(
        past_.for_each_touched({.from = low + 1, .to = high + 1},
                               [&](const RecordKey& key, const KnownTicks& known) -> Result<bool> {
                                 if (box && !may_be_inside(key, *box)) return true;
                                 VARVE_ASSIGN(const RecordValue a, past_.at(key, before, known));
                                 VARVE_ASSIGN(const RecordValue b, past_.at(key, after, known));
                                 if (a == b) return true;
                                 if (box && !is_inside(key, a, *box) && !is_inside(key, b, *box))
                                   return true;
                                 RecordDifference difference{.key = key};
                                 if (a) difference.size_before = a->data.size();
                                 if (b) difference.size_after = b->data.size();
                                 found.push_back(std::move(difference));
                                 return true;
                               }));
    return found;
  }

  static constexpr std::uint64_t kLookTicks = 1'024;

  RecordPast past_;
};

}  // namespace

std::unique_ptr<WorldHistory> make_world_history(HistorySource source) {
  return std::make_unique<WorldHistoryImpl>(std::move(source));
}

}  // namespace varve::journal
