#include "journal/tick_reader.h"

#include <fmt/format.h>

#include "base/try.h"

namespace varve::journal {

Result<TickMutations> TickReader::decode(std::uint64_t tick, const Bytes& payload) const {
  ++decoded_count_;
  auto mutations = decode_mutations(payload);
  if (!mutations) return mutations.error().with_context(fmt::format("tick {}", tick));
  return mutations;
}

Result<std::shared_ptr<const TickMutations>> TickReader::get(std::uint64_t tick) const {
  if (auto found = find(tick)) return found;
  Kept read{.tick = tick, .mutations = std::make_shared<const TickMutations>()};
  bool is_there = false;
  VARVE_TRY(log_.read(tick, tick + 1, [&](std::uint64_t, const Bytes& payload) -> Result<bool> {
    VARVE_ASSIGN(TickMutations mutations, decode(tick, payload));
    read.size = payload.size();
    read.mutations = std::make_shared<const TickMutations>(std::move(mutations));
    is_there = true;
    return false;
  }));
  // What is not there may come.
  if (is_there) keep(read);
  return read.mutations;
}

Status TickReader::for_each(std::uint64_t from, std::uint64_t to, const Visit& visit) const {
  return log_.read(from, to, [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
    VARVE_ASSIGN(const TickMutations mutations, decode(tick, payload));
    return visit(tick, mutations);
  });
}

Status TickReader::for_each_number(std::uint64_t from, std::uint64_t to,
                                   const std::function<void(std::uint64_t tick)>& visit) const {
  return log_.read(from, to, [&](std::uint64_t tick, const Bytes&) -> Result<bool> {
    visit(tick);
    return true;
  });
}

std::shared_ptr<const TickMutations> TickReader::find(std::uint64_t tick) const {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(tick);
  if (place == places_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, place->second);
  return kept_.front().mutations;
}

void TickReader::keep(Kept kept) const {
  const std::lock_guard lock(mutex_);
  if (places_.contains(kept.tick)) return;
  kept_.push_front(std::move(kept));
  places_.emplace(kept_.front().tick, kept_.begin());
  kept_size_ += kept_.front().size;
  while (kept_size_ > kept_size_max_ && kept_.size() > 1) {
    kept_size_ -= kept_.back().size;
    places_.erase(kept_.back().tick);
    kept_.pop_back();
  }
}

}  // namespace varve::journal
