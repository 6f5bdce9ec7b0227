#include "backend/log/index_table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

namespace varve::log {
namespace {

constexpr std::uint8_t kPassedMax = std::numeric_limits<std::uint8_t>::max();

}  // namespace

void GroupTable::rebuild(const GroupArena& arena, std::size_t count) {
  GroupTable made;
  made.bucket_count_ = count * 8 / (std::size_t{kBucketCapacity} * 7) + 1;
  made.memory_ = IndexMemory(made.bucket_count_ * sizeof(Bucket));
  made.buckets_ = reinterpret_cast<Bucket*>(made.memory_.data());
  std::uninitialized_value_construct_n(made.buckets_, made.bucket_count_);

  // Each waits until its bucket has come from memory, while others are on their way.
  struct Waiting {
    std::uint64_t hash;
    GroupRef ref;
  };
  constexpr std::size_t kWaitingCount = 16;
  std::array<Waiting, kWaitingCount> ring;
  std::size_t index = 0;
  arena.for_each([&](GroupRef ref) {
    Waiting& turn = ring[index % kWaitingCount];
    if (index++ >= kWaitingCount) made.insert(turn.hash, turn.ref);
    turn = {hash_of(arena.at(ref).prefix()), ref};
    __builtin_prefetch(&made.buckets_[made.home_of(turn.hash)], 1);
  });
  for (std::size_t i = 0; i < std::min(index, kWaitingCount); ++i) {
    made.insert(ring[i].hash, ring[i].ref);
  }
  *this = std::move(made);
}

void GroupTable::insert(std::uint64_t hash, GroupRef ref) noexcept {
  std::size_t index = home_of(hash);
  for (; buckets_[index].count == kBucketCapacity; index = after(index)) {
    if (buckets_[index].passed != kPassedMax) ++buckets_[index].passed;
  }
  Bucket& bucket = buckets_[index];
  bucket.tags[bucket.count] = tag_of(hash);
  bucket.refs[bucket.count] = ref;
  ++bucket.count;
  ++count_;
}

void GroupTable::erase(std::uint64_t hash, GroupRef ref) noexcept {
  std::size_t index = 0;
  GroupRef& slot = slot_of(hash, ref, index);
  Bucket& bucket = buckets_[index];
  const auto position = static_cast<std::size_t>(&slot - bucket.refs.data());
  --bucket.count;
  bucket.tags[position] = bucket.tags[bucket.count];
  bucket.refs[position] = bucket.refs[bucket.count];
  --count_;
  for (std::size_t i = home_of(hash); i != index; i = after(i)) {
    if (buckets_[i].passed != kPassedMax) --buckets_[i].passed;
  }
}

void GroupTable::replace(std::uint64_t hash, GroupRef from, GroupRef to) noexcept {
  std::size_t index = 0;
  slot_of(hash, from, index) = to;
}

GroupRef& GroupTable::slot_of(std::uint64_t hash, GroupRef ref,
                              std::size_t& bucket_index) noexcept {
  for (bucket_index = home_of(hash);; bucket_index = after(bucket_index)) {
    Bucket& bucket = buckets_[bucket_index];
    for (unsigned left = bucket.matches(tag_of(hash)); left != 0; left &= left - 1) {
      GroupRef& slot = bucket.refs[static_cast<unsigned>(std::countr_zero(left))];
      if (slot == ref) return slot;
    }
  }
}

}  // namespace varve::log
