// HistoricalState over a journal, or over a state that is there already.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "journal/engine_parts.h"

namespace varve::journal {

class PastState final : public HistoricalState {
 public:
  // Of an engine that outlives it.
  PastState(const Engine& engine, History history, std::uint64_t tick)
      : engine_(&engine), history_(std::move(history)), tick_(tick) {}
  PastState(EntityState state, std::uint64_t tick) : tick_(tick), whole_(std::move(state)) {}

  std::uint64_t tick() const override { return tick_; }
  Result<std::optional<Bytes>> component(EntityId entity, ComponentId id) const override;
  Result<std::optional<Bytes>> singleton(ComponentId id) const override;
  Result<std::optional<Bytes>> player(std::string_view name) const override;
  Result<std::optional<Bytes>> global(std::string_view name) const override;
  Result<std::optional<EntityView>> find(EntityId entity) const override;
  Status for_each(const std::function<bool(const EntityView&)>& visit) const override;
  Result<std::vector<EntityId>> entities_in(const ChunkPos& pos) const override;
  Result<std::vector<EntityId>> entities_in(const ChunkBox& box) const override;
  Result<EntityState> state() const override;

 private:
  // What is known so far: the whole, or else the snapshot it goes on from. Neither changes once it
  // is there.
  struct Known {
    const EntityState* whole = nullptr;
    const Replayed* base = nullptr;
  };
  Result<Known> known() const;
  Result<const EntityState*> whole() const;
  // What the last tick behind the base says that says anything: search(payload) gives an optional.
  // nullopt if none does.
  template <class Ticks, class Search>
  auto last_said(const Replayed& base, const Ticks& ticks_of, const Search& search) const
      -> std::invoke_result_t<Search, const Bytes&>;
  template <class Ticks, class Search, class InState>
  Result<std::optional<Bytes>> value(const Ticks& ticks_of, const Search& search,
                                     const InState& in_state) const;

  const Engine* engine_ = nullptr;
  std::optional<History> history_;
  const std::uint64_t tick_;
  mutable std::mutex mutex_;
  mutable std::optional<Replayed> base_;
  mutable std::optional<EntityState> whole_;
};

}  // namespace varve::journal
