// What a memory backend shows: one version of its map, shared by all who look at it.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/persistent_map.h"
#include "varve/backend.h"

namespace varve {

// Text is compared as unsigned bytes, which is the order of keys.
struct MemoryKey {
  Bytes bytes;

  friend std::strong_ordering operator<=>(const MemoryKey& a, std::string_view b) noexcept {
    return a.bytes.text() <=> b;
  }
  friend std::strong_ordering operator<=>(const MemoryKey& a, const MemoryKey& b) noexcept {
    return a <=> b.bytes.text();
  }
};

// What was there after one batch. Immutable once others see it.
struct MemoryVersion {
  PersistentMap<MemoryKey, Bytes> map;
  std::uint64_t sequence = 0;
  std::uint64_t live_size = 0;  // of all keys and values

  // Does what a batch says, all but the sequence. Whether that was anything: a put always is, also
  // of the same value. After std::bad_alloc this version is good for nothing.
  bool apply(const WriteBatch& batch);
};
using SharedMemoryVersion = std::shared_ptr<const MemoryVersion>;

class MemoryView final : public ReadView {
 public:
  // `traits` must outlive it: snapshots are gone before their backend is. A view of no version
  // is that of a closed backend.
  MemoryView(const BackendTraits& traits, SharedMemoryVersion version) noexcept
      : traits_(traits), version_(std::move(version)) {}

  std::uint64_t sequence() const override { return version_ != nullptr ? version_->sequence : 0; }
  Result<std::optional<Bytes>> get(ByteView key) const override;
  // No results at all if there is no memory for them.
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override;
  Result<RangePage> range(const RangeQuery& query) const override;

 private:
  const BackendTraits& traits_;
  SharedMemoryVersion version_;
};

}  // namespace varve
