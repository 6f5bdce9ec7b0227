// Looking back, and keeping the index that makes it cheap.
#include <fmt/format.h>

#include <algorithm>

#include "journal/engine_parts.h"
#include "journal/mutation_search.h"
#include "journal/past_state.h"

namespace varve::journal {
namespace {

// What is not indexed yet is read by whoever looks back. So much is soon read, and waking a thread
// for it costs a tick next to nothing.
constexpr std::uint64_t kIndexEveryTicks = 64;

Error not_come_yet(std::uint64_t tick, const std::optional<std::uint64_t>& latest) {
  return invalid_argument(
      latest ? fmt::format("tick {} has not come yet: the latest is {}", tick, *latest)
             : fmt::format("tick {} has not come yet: there is none", tick));
}

}  // namespace

// --- The index -------------------------------------------------------------------------

Status Engine::index_due_ticks(std::uint64_t tick) {
  {
    const std::lock_guard lock(mutex_);
    const bool ends_stretch = index_->stretch_start(tick) != index_->stretch_start(indexed_tick_);
    if (++unindexed_count_ < kIndexEveryTicks && !ends_stretch) return {};
    unindexed_count_ = 0;
    indexed_tick_ = tick;
    is_index_due_ = options_.background;
  }
  if (!options_.background) return keep_index();
  wake_.notify_all();
  return {};
}

Status Engine::keep_index() {
  const std::lock_guard index_lock(index_mutex_);
  // What cannot be read is told by whoever wants it.
  const Status caught_up = index_->catch_up();
  if (!caught_up && caught_up.error().code() != ErrorCode::corruption) return caught_up;
  return index_->write_finished();
}

// --- What there is to look at ------------------------------------------------------------

Result<History> Engine::history_at(std::uint64_t tick) const {
  const std::lock_guard lock(mutex_);
  if (!latest_tick_ || tick > *latest_tick_) return not_come_yet(tick, latest_tick_);
  return history();
}

Status Engine::check_leads_on(const std::optional<std::uint64_t>& base, std::uint64_t tick) const {
  if (base == tick) return {};
  const std::lock_guard lock(mutex_);
  // It is noted before anything is cut.
  if (!log_base_ || (base && *base >= *log_base_)) return {};
  return not_found(
      fmt::format("history truncated: tick {} is gone, the oldest is {}", tick, *log_base_));
}

Result<TickRange> Engine::told_range(const TickRange& range) const {
  const std::lock_guard lock(mutex_);
  if (!latest_tick_ || range.from >= range.to) return TickRange{0, 0};
  return TickRange{range.from, std::min(range.to, *latest_tick_ + 1)};
}

std::uint64_t Engine::decoded_count() const { return decoded_count_ + index_->scanned_count(); }

// --- Looking ---------------------------------------------------------------------------

Result<std::shared_ptr<const HistoricalState>> Engine::at_tick(std::uint64_t tick) const {
  return or_out_of_memory([&]() -> Result<std::shared_ptr<const HistoricalState>> {
    VARVE_TRY(check_open());
    {
      const std::lock_guard lock(mutex_);
      if (latest_tick_ == tick) return std::make_shared<const PastState>(state_, tick);
    }
    VARVE_ASSIGN(History from, history_at(tick));
    VARVE_TRY(check_is_told(from, tick));
    return std::make_shared<const PastState>(*this, std::move(from), tick);
  });
}

Result<std::vector<ComponentChange>> Engine::entity_history(EntityId entity, ComponentId component,
                                                            const TickRange& range) const {
  return or_out_of_memory([&]() -> Result<std::vector<ComponentChange>> {
    VARVE_TRY(check_open());
    std::vector<ComponentChange> changes;
    VARVE_ASSIGN(const TickRange told, told_range(range));
    if (told.from >= told.to) return changes;
    VARVE_ASSIGN(const std::vector<std::uint64_t> ticks,
                 index_->ticks_of({.kind = RecordKind::entity, .id = entity}, told));
    const auto visit = [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
      auto said = search_component(payload, entity, component);
      if (!said) return said.error().with_context(fmt::format("tick {}", tick));
      switch (said->kind) {
        case SaidOfComponent::Kind::set:
          changes.push_back({tick, std::move(said->value)});
          break;
        case SaidOfComponent::Kind::removed:
        case SaidOfComponent::Kind::despawned:
          changes.push_back({tick, std::nullopt});
          break;
        case SaidOfComponent::Kind::nothing:
        case SaidOfComponent::Kind::spawned:
          break;
      }
      return true;
    };
    const Status read = log_->read_ticks(ticks, visit);
    count_decoded(ticks.size());
    // Looked at last: what was cut off meanwhile is missing above. Of the tick the log was cut at
    // only the state is known.
    const auto before = told.from == 0 ? std::nullopt : std::optional(told.from - 1);
    VARVE_TRY(check_leads_on(before, told.from));
    VARVE_TRY(read);
    return changes;
  });
}

Result<std::optional<std::uint64_t>> Engine::find_tick(
    const TickRange& range,
    const std::function<Result<bool>(const HistoricalState&)>& holds) const {
  using Found = std::optional<std::uint64_t>;
  return or_out_of_memory([&]() -> Result<Found> {
    VARVE_TRY(check_open());
    VARVE_ASSIGN(TickRange told, told_range(range));
    if (told.from >= told.to) return Found();
    VARVE_ASSIGN(const History history, history_at(told.to - 1));
    // Before the first tick of all there was no world.
    if (!history.log_base && history.log.first_tick()) {
      told.from = std::max(told.from, *history.log.first_tick());
      if (told.from >= told.to) return Found();
    }
    Replayed replayed;
    VARVE_TRY(replay(history, told.from, replayed));
    const auto check = [&](std::uint64_t tick) -> Result<bool> {
      const PastState past(replayed.state, tick);
      return guarded(ErrorCode::invalid_argument, "find_tick: the predicate",
                     [&] { return holds(past); });
    };
    VARVE_ASSIGN(const bool holds_at_once, check(told.from));
    Found found;
    if (holds_at_once) found = told.from;
    if (!found) {
      VARVE_TRY(history.log.read(told.from + 1, told.to,
                                 [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
                                   VARVE_TRY(apply_entry(tick, payload, replayed));
                                   VARVE_ASSIGN(const bool is_it, check(tick));
                                   if (is_it) found = tick;
                                   return !is_it;
                                 }));
    }
    count_decoded(replayed.entry_count);
    return found;
  });
}

}  // namespace varve::journal
