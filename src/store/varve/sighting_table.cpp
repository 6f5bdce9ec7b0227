#include "store/varve/sighting_table.h"

#include <algorithm>

namespace varve {

SightingTable::SightingTable(std::uint64_t memory_size)
    : slots_(memory_size / (kSetSize * sizeof(Slot)) * kSetSize) {
  static_assert(sizeof(Slot) == 40, "varve_store.h says what a chunk takes");
}

std::optional<ByteView> SightingTable::find(const Hash128& hash) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const std::size_t set = set_of(hash);
  for (std::size_t i = set; i < set + kSetSize; ++i) {
    const Slot& slot = slots_[i];
    if (slot.key_size != 0 && slot.hash == hash) return ByteView(slot.key.data(), slot.key_size);
  }
  return std::nullopt;
}

void SightingTable::note(const Hash128& hash, ByteView key) noexcept {
  if (slots_.empty() || key.size() > kKeySizeMax) return;
  const std::size_t set = set_of(hash);
  // The slot it has, or a free one, or one after the other.
  std::size_t at = set + next_victim_ % kSetSize;
  bool has_place = false;
  for (std::size_t i = set; i < set + kSetSize && !has_place; ++i) {
    has_place = slots_[i].key_size != 0 && slots_[i].hash == hash;
    if (has_place || (slots_[i].key_size == 0)) at = i;
  }
  if (slots_[at].key_size != 0 && !has_place) ++next_victim_;
  Slot& slot = slots_[at];
  slot.hash = hash;
  std::copy(key.begin(), key.end(), slot.key.begin());
  slot.key_size = static_cast<std::uint8_t>(key.size());
}

}  // namespace varve
