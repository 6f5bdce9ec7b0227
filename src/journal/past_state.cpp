#include "journal/past_state.h"

#include <algorithm>

#include "journal/mutation_search.h"

namespace varve::journal {
namespace {

std::optional<Bytes> copy_of(const Bytes* value) {
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<Bytes> component_in(const EntityState& state, EntityId entity, ComponentId id) {
  const auto view = state.component(entity, id);
  return view ? std::optional(Bytes::copy_of(*view)) : std::nullopt;
}

// As search_singleton() and the like say it.
Result<SaidOfValue> said_of(const Bytes& payload, EntityId entity, ComponentId component) {
  VARVE_ASSIGN(SaidOfComponent said, search_component(payload, entity, component));
  switch (said.kind) {
    case SaidOfComponent::Kind::nothing:
      return SaidOfValue();
    case SaidOfComponent::Kind::set:
      return SaidOfValue(std::move(said.value));
    default:
      return SaidOfValue(std::optional<Bytes>());
  }
}

}  // namespace

Result<PastState::Known> PastState::known() const {
  const std::lock_guard lock(mutex_);
  if (whole_) return Known{.whole = &*whole_};
  if (!base_) {
    Replayed base;
    VARVE_TRY(find_base(*history_, tick_, base));
    base_ = std::move(base);
  }
  return Known{.base = &*base_};
}

Result<const EntityState*> PastState::whole() const {
  VARVE_ASSIGN(const Known known, this->known());
  if (known.whole != nullptr) return known.whole;
  // Two that come at once do it one after the other, and the second finds it done.
  const std::lock_guard lock(mutex_);
  if (!whole_) {
    Replayed replayed = *known.base;
    VARVE_TRY(replay_on(*history_, tick_, replayed));
    engine_->count_decoded(replayed.entry_count);
    whole_ = std::move(replayed.state);
  }
  return &*whole_;
}

template <class Ticks, class Search>
auto PastState::last_said(const Replayed& base, const Ticks& ticks_of, const Search& search) const
    -> std::invoke_result_t<Search, const Bytes&> {
  using Found = std::invoke_result_t<Search, const Bytes&>;
  const TickRange behind_base{base.tick ? *base.tick + 1 : 0, tick_ + 1};
  Found found = typename Found::value_type();
  if (behind_base.from >= behind_base.to) return found;
  VARVE_ASSIGN(const std::vector<std::uint64_t> ticks, ticks_of(engine_->index(), behind_base));
  std::uint64_t entry_count = 0;
  for (auto at = ticks.rbegin(); at != ticks.rend() && !*found; ++at) {
    VARVE_TRY(history_->log.read_ticks(
        std::span(&*at, 1), [&](std::uint64_t, const Bytes& payload) -> Result<bool> {
          ++entry_count;
          found = search(payload);
          if (!found) return found.error().with_context("tick " + std::to_string(*at));
          return true;
        }));
  }
  engine_->count_decoded(entry_count);
  return found;
}

template <class Ticks, class Search, class InState>
Result<std::optional<Bytes>> PastState::value(const Ticks& ticks_of, const Search& search,
                                              const InState& in_state) const {
  return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
    VARVE_ASSIGN(const Known known, this->known());
    if (known.whole != nullptr) return in_state(*known.whole);
    VARVE_ASSIGN(SaidOfValue said, last_said(*known.base, ticks_of, search));
    // What the index does not name may have been cut off, and not unsaid.
    VARVE_TRY(engine_->check_leads_on(known.base->tick, tick_));
    if (said) return *std::move(said);
    return in_state(known.base->state);
  });
}

Result<std::optional<Bytes>> PastState::component(EntityId entity, ComponentId id) const {
  return value(
      [&](const HistoryIndex& index, const TickRange& range) {
        return index.ticks_of({.kind = RecordKind::entity, .id = entity}, range);
      },
      [&](const Bytes& payload) { return said_of(payload, entity, id); },
      [&](const EntityState& state) { return component_in(state, entity, id); });
}

Result<std::optional<Bytes>> PastState::singleton(ComponentId id) const {
  return value([&](const HistoryIndex& index,
                   const TickRange& range) { return index.ticks_of_singleton(id, range); },
               [&](const Bytes& payload) { return search_singleton(payload, id); },
               [&](const EntityState& state) { return copy_of(state.singleton(id)); });
}

Result<std::optional<Bytes>> PastState::player(std::string_view name) const {
  return value(
      [&](const HistoryIndex& index, const TickRange& range) {
        return index.ticks_of({.kind = RecordKind::player, .name = std::string(name)}, range);
      },
      [&](const Bytes& payload) { return search_player(payload, name); },
      [&](const EntityState& state) { return copy_of(state.player(name)); });
}

Result<std::optional<Bytes>> PastState::global(std::string_view name) const {
  return value(
      [&](const HistoryIndex& index, const TickRange& range) {
        return index.ticks_of({.kind = RecordKind::global, .name = std::string(name)}, range);
      },
      [&](const Bytes& payload) { return search_global(payload, name); },
      [&](const EntityState& state) { return copy_of(state.global(name)); });
}

Result<std::optional<EntityView>> PastState::find(EntityId entity) const {
  return or_out_of_memory([&]() -> Result<std::optional<EntityView>> {
    VARVE_ASSIGN(const EntityState* const all, whole());
    return all->find(entity);
  });
}

Status PastState::for_each(const std::function<bool(const EntityView&)>& visit) const {
  return or_out_of_memory([&]() -> Status {
    VARVE_ASSIGN(const EntityState* const all, whole());
    all->for_each(visit);
    return {};
  });
}

Result<std::vector<EntityId>> PastState::entities_in(const ChunkPos& pos) const {
  return or_out_of_memory([&]() -> Result<std::vector<EntityId>> {
    VARVE_ASSIGN(const EntityState* const all, whole());
    return all->entities_in(pos);
  });
}

Result<std::vector<EntityId>> PastState::entities_in(const ChunkBox& box) const {
  return or_out_of_memory([&]() -> Result<std::vector<EntityId>> {
    VARVE_ASSIGN(const EntityState* const all, whole());
    std::vector<EntityId> found;
    all->for_each([&](const EntityView& view) {
      if (view.chunk && box.contains(*view.chunk)) found.push_back(view.entity);
      return true;
    });
    return found;
  });
}

Result<EntityState> PastState::state() const {
  return or_out_of_memory([&]() -> Result<EntityState> {
    VARVE_ASSIGN(const EntityState* const all, whole());
    return *all;
  });
}

}  // namespace varve::journal
