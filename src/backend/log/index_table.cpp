#include "backend/log/index_table.h"

#include <limits>
#include <utility>

namespace varve::log {
namespace {

constexpr std::uint8_t kPassedMax = std::numeric_limits<std::uint8_t>::max();

}  // namespace

void GroupTable::rebuild(const GroupArena& arena, std::size_t count) {
  GroupTable made;
  while (count_max(made.bucket_count_) < count) {
    made.bucket_count_ = count * 8 / (std::size_t{kBucketCapacity} * 7) + 1;
    // Only rounding can make another try necessary.
    ++count;
  }
  // Aligned by hand: buckets are to be whole cache lines.
  std::size_t size = (made.bucket_count_ + 1) * sizeof(Bucket);
  made.memory_size_ = size;
  made.memory_.reset(new std::byte[size]);
  void* start = made.memory_.get();
  std::align(sizeof(Bucket), made.bucket_count_ * sizeof(Bucket), start, size);
  made.buckets_ = static_cast<Bucket*>(start);
  std::uninitialized_value_construct_n(made.buckets_, made.bucket_count_);
  arena.for_each([&](GroupRef ref) { made.insert(hash_of(arena.at(ref).prefix()), ref); });
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
