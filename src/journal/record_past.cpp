#include "journal/record_past.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::journal {
namespace {

// Entries of ticks, before they are decoded.
constexpr std::size_t kKeptTicksSize = std::size_t{32} << 20;

RecordValue value_of(std::optional<Bytes> data) {
  if (!data) return std::nullopt;
  return EntityValue{.owner = {}, .data = *std::move(data)};
}

// Whether changes, looked at from the last to the first, say all of a record.
struct Settled {
  bool data = false;
  bool owner = false;

  bool all() const noexcept { return data && owner; }
  void add(const RecordTick& changed) noexcept {
    for (const RecordChange& change : changed.changes) {
      data |= change.kind == RecordChange::Kind::put || change.kind == RecordChange::Kind::bytes;
      owner |= change.kind == RecordChange::Kind::put || change.kind == RecordChange::Kind::owner;
    }
  }
};

}  // namespace

std::span<const std::uint64_t> KnownTicks::in(const TickRange& part) const noexcept {
  const auto first = std::ranges::lower_bound(ticks, part.from);
  return {first, std::ranges::lower_bound(first, ticks.end(), part.to)};
}

RecordPast::RecordPast(HistorySource source)
    : source_(std::move(source)),
      making_{.type = source_.chunk_type,
              .generator = source_.generator,
              .type_name = source_.journal.meta().chunk_type,
              .generator_id = source_.store.generator()},
      ticks_(source_.journal.log(), kKeptTicksSize) {}

std::uint64_t RecordPast::latest_logged() const {
  return source_.journal.log().latest_tick().value_or(0);
}

std::uint64_t RecordPast::latest_tick() const {
  // A save of a tick that changed nothing is ahead of the log; one of ticks the log has lost, too.
  const bool is_whole = !source_.journal.log().report().is_end_damaged;
  return std::max(
      {latest_logged(), is_whole ? source_.store.tick() : 0, source_.journal.meta().base_tick});
}

Status RecordPast::check(std::uint64_t tick) const {
  if (const std::uint64_t oldest = oldest_tick(); tick < oldest) {
    return not_found(
        fmt::format("tick {} is before the history, whose oldest tick is {}", tick, oldest));
  }
  if (const std::uint64_t latest = latest_tick(); tick > latest) {
    return invalid_argument(
        fmt::format("tick {} has not come yet, the latest is {}", tick, latest));
  }
  return {};
}

Result<TickRange> RecordPast::clamp(const TickRange& range) const {
  const std::uint64_t oldest = oldest_tick();
  if (range.from != 0 && range.from < oldest) {
    return not_found(
        fmt::format("tick {} is before the history, whose oldest tick is {}", range.from, oldest));
  }
  return TickRange{.from = std::max(range.from, oldest),
                   .to = std::min(range.to, latest_tick() + 1)};
}

Result<RecordTick> RecordPast::tick_of(const RecordKey& key, std::uint64_t tick) const {
  VARVE_ASSIGN(const auto mutations, ticks_.get(tick));
  return record_in(tick, *mutations, key);
}

Result<RecordPast::Ticks> RecordPast::ticks_of(const RecordKey& key, const TickRange& range,
                                               const KnownTicks& known) const {
  Ticks ticks;
  if (range.from >= range.to) return ticks;
  if (known.covers(range)) {
    ticks.view = known.in(range);
  } else {
    VARVE_ASSIGN(ticks.own, source_.journal.index().ticks_of(key, range));
    ticks.view = ticks.own;
  }
  return ticks;
}

Status RecordPast::for_each_change(const RecordKey& key, const TickRange& range,
                                   const VisitTick& visit, const KnownTicks& known) const {
  VARVE_ASSIGN(const Ticks touched, ticks_of(key, range, known));
  for (const std::uint64_t tick : touched.view) {
    VARVE_ASSIGN(const RecordTick changed, tick_of(key, tick));
    if (changed.empty()) continue;
    VARVE_ASSIGN(const bool goes_on, visit(changed));
    if (!goes_on) break;
  }
  return {};
}

Status RecordPast::for_each_touched(const TickRange& range, const VisitTouched& visit) const {
  if (range.from >= range.to) return {};
  const HistoryIndex& index = source_.journal.index();
  const std::uint64_t before = range.from == 0 ? 0 : range.from - 1;
  const TickRange asked{.from = std::min(index.stretch_start(before), source_.store.tick() + 1),
                        .to = range.to};
  return index.for_each_touched(
      asked, [&](const RecordKey& key, std::span<const std::uint64_t> ticks) -> Result<bool> {
        if (ticks.empty() || ticks.back() < range.from) return true;
        return visit(key, {.range = asked, .ticks = ticks});
      });
}

Result<RecordValue> RecordPast::at(const RecordKey& key, std::uint64_t tick,
                                   const KnownTicks& known) const {
  VARVE_ASSIGN(RecordValue value, at_unchecked(key, tick, known));
  // The log may have been cut meanwhile, and then what was looked for was not all there.
  if (const std::uint64_t oldest = oldest_tick(); tick < oldest) {
    return not_found(
        fmt::format("tick {} is before the history, whose oldest tick is now {}", tick, oldest));
  }
  return value;
}

Result<RecordValue> RecordPast::before(const RecordKey& key, const RecordTick& changed) const {
  if (changed.image) return *changed.image;
  if (changed.tick > oldest_tick()) return at_unchecked(key, changed.tick - 1, {});
  return corruption(fmt::format("{}: tick {} of the journal does not say what it was before",
                                to_string(key), changed.tick));
}

Result<RecordValue> RecordPast::at_unchecked(const RecordKey& key, std::uint64_t tick,
                                             const KnownTicks& known) const {
  const HistoryIndex& index = source_.journal.index();
  // Before anything else: what is read later is of this tick or a later one.
  const std::uint64_t stored_tick = source_.store.tick();
  const std::uint64_t start = index.stretch_start(tick);

  VARVE_ASSIGN(const Ticks in_stretch, ticks_of(key, {.from = start, .to = tick + 1}, known));
  VARVE_ASSIGN(auto made, made_by(key, in_stretch.view, nullptr));
  if (made) return *std::move(made);

  Search search{.from = tick + 1, .window_ticks = index.stretch_ticks()};
  if (known.range.to > search.from) search.window_ticks = known.range.to - search.from;
  VARVE_ASSIGN(auto found, found_by_next(key, search, known));
  if (found) return *std::move(found);

  VARVE_ASSIGN(const Ticks unstored, ticks_of(key, {.from = stored_tick + 1, .to = start}, known));
  VARVE_ASSIGN(made, made_by(key, unstored.view, [&] { return stored(key); }));
  VARVE_ASSIGN(found, found_by_next(key, search, known));
  return found ? *std::move(found) : *std::move(made);
}

Result<std::optional<RecordValue>> RecordPast::made_by(
    const RecordKey& key, std::span<const std::uint64_t> touched,
    const std::function<Result<RecordValue>()>& base) const {
  std::vector<RecordTick> changes;  // from the last
  Settled settled;
  std::optional<RecordValue> begin;
  for (std::size_t i = touched.size(); i-- > 0 && !begin && !settled.all();) {
    VARVE_ASSIGN(RecordTick changed, tick_of(key, touched[i]));
    if (changed.empty()) continue;
    begin = changed.image;
    settled.add(changed);
    changes.push_back(std::move(changed));
  }
  if (!begin && settled.all()) begin = EntityValue();  // Every part of it is replaced.
  if (!begin && base) {
    VARVE_ASSIGN(begin, base());
  }
  if (!begin && changes.empty()) return std::optional<RecordValue>();
  if (!begin) {
    return corruption(fmt::format("{}: tick {} of the journal does not say what it was before",
                                  to_string(key), changes.back().tick));
  }
  RecordFold folded = fold(key, *std::move(begin));
  for (auto changed = changes.rbegin(); changed != changes.rend(); ++changed) {
    for (const RecordChange& change : changed->changes) {
      if (Status applied = folded.apply(change); !applied) {
        return applied.error().with_context(fmt::format("tick {}", changed->tick));
      }
    }
  }
  VARVE_ASSIGN(RecordValue value, folded.value());
  return std::optional<RecordValue>(std::move(value));
}

Result<std::optional<RecordValue>> RecordPast::found_by_next(const RecordKey& key, Search& search,
                                                             const KnownTicks& known) const {
  while (search.from <= latest_logged()) {
    const std::uint64_t to =
        search.from + std::min(search.window_ticks, latest_logged() + 1 - search.from);
    std::optional<RecordTick> first;
    const auto take = [&](const RecordTick& next) {
      first = next;
      return Result<bool>(false);
    };
    VARVE_TRY(for_each_change(key, {.from = search.from, .to = to}, take, known));
    if (first && first->image) return std::optional<RecordValue>(*first->image);
    if (first) {
      return corruption(fmt::format("{}: tick {} of the journal does not say what it was before",
                                    to_string(key), first->tick));
    }
    search.from = to;
    // A record nobody touched for long is looked for in large steps.
    search.window_ticks *= 2;
  }
  return std::optional<RecordValue>();
}

Result<RecordValue> RecordPast::stored(const RecordKey& key) const {
  if (source_.journal.log().report().is_end_damaged) {
    return corruption(
        fmt::format("{}: the journal is damaged behind tick {}, and what is stored may be of a "
                    "tick it has lost",
                    to_string(key), latest_logged()));
  }
  switch (key.kind) {
    case RecordKind::chunk: {
      VARVE_ASSIGN(auto payload, source_.store.read_chunk(key.pos));
      return value_of(std::move(payload));
    }
    case RecordKind::player: {
      VARVE_ASSIGN(auto data, source_.store.read_player(key.name));
      return value_of(std::move(data));
    }
    case RecordKind::global: {
      VARVE_ASSIGN(auto data, source_.store.read_global(key.name));
      return value_of(std::move(data));
    }
    case RecordKind::entity:
      break;
  }
  VARVE_ASSIGN(auto entity, source_.store.read_entity(key.id));
  if (!entity) return RecordValue();
  return RecordValue(EntityValue{.owner = entity->owner, .data = std::move(entity->data)});
}

}  // namespace varve::journal
