// A hash map that never stops the game to grow.
//
// A hash table that doubles touches every entry at once: 30 ms for 170,000 chunks, in the
// frame that loads one more. Many small tables grow one at a time, at different moments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

namespace varve {

template <class Key, class Value>
class ShardedMap {
 public:
  using Shard = std::unordered_map<Key, Value>;

  // Values stay where they are until they are erased.
  Value* find(const Key& key) {
    Shard& shard = shard_of(key);
    const auto found = shard.find(key);
    return found == shard.end() ? nullptr : &found->second;
  }
  // The value, and whether it was made for this call.
  std::pair<Value*, bool> try_emplace(const Key& key) {
    const auto [at, inserted] = shard_of(key).try_emplace(key);
    return {&at->second, inserted};
  }
  void erase(const Key& key) { shard_of(key).erase(key); }

  template <class Fn>
  void for_each(const Fn& fn) {
    for (Shard& shard : shards_)
      for (auto& [key, value] : shard) fn(key, value);
  }

  // Where a walk over everything, a few entries at a time, has come. What is added or
  // grows meanwhile may be seen twice or in the next round.
  struct Hand {
    std::size_t shard = 0;
    std::size_t bucket = 0;
  };
  // Calls fn(key, value) for the entries of one bucket and moves on.
  template <class Fn>
  void visit_bucket(Hand& hand, const Fn& fn) {
    if (hand.bucket >= shards_[hand.shard].bucket_count()) {
      hand.bucket = 0;
      hand.shard = (hand.shard + 1) % kShardCount;
    }
    Shard& shard = shards_[hand.shard];
    for (auto at = shard.begin(hand.bucket); at != shard.end(hand.bucket); ++at)
      fn(at->first, at->second);
    ++hand.bucket;
  }

 private:
  static constexpr std::size_t kShardCount = 64;

  Shard& shard_of(const Key& key) {
    // The high bits of a product: the tables themselves look at the low ones, and ids that
    // count up have nothing in the high ones.
    constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15;
    return shards_[static_cast<std::uint64_t>(std::hash<Key>()(key)) * kMix >> 58];
  }

  std::array<Shard, kShardCount> shards_;
};

}  // namespace varve
