// Finds groups by their prefix: a hash table of references.
//
// A bucket is one cache line of 12 references, with a byte of each one's hash beside them, so that
// a look-up reads one line here and then the group. What does not fit in its bucket is in one of
// the next. The number of buckets is no power of two: the table grows by less than a third, since
// what it has too much is paid for by every entry of a sparse world.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "backend/log/index_arena.h"
#include "backend/log/index_memory.h"
#include "base/endian.h"
#include "varve/bytes.h"
#include "varve/checksum.h"

namespace varve::log {

inline std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}

// Both halves of the product, one upon the other.
inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
  return multiply_high(a, b) ^ a * b;
}

// Prefixes of chunks and the like, which are hashed and compared in a few cycles, as two words that
// may overlap. For anything shorter or longer a call is worth it.
inline bool is_two_words(std::size_t prefix_size) noexcept {
  return prefix_size >= 8 && prefix_size <= 16;
}

// In memory only, so it may change.
inline std::uint64_t hash_of(ByteView prefix) noexcept {
  const std::size_t size = prefix.size();
  if (!is_two_words(size)) return xxh3(prefix);
  const auto head = load_le<std::uint64_t>(prefix.data());
  const auto tail = load_le<std::uint64_t>(prefix.data() + size - 8);
  return fold_product(head ^ 0xa0761d6478bd642f, tail ^ 0xe7037ed1a0b428db ^ size);
}

inline bool has_prefix(Group group, ByteView prefix) noexcept {
  const std::size_t size = prefix.size();
  if (group.prefix_size() != size) return false;
  const std::byte* const a = group.prefix().data();
  const std::byte* const b = prefix.data();
  if (!is_two_words(size)) return std::memcmp(a, b, size) == 0;
  const std::size_t tail = size - 8;
  return ((load_le<std::uint64_t>(a) ^ load_le<std::uint64_t>(b)) |
          (load_le<std::uint64_t>(a + tail) ^ load_le<std::uint64_t>(b + tail))) == 0;
}

class GroupTable {
 public:
  static constexpr GroupRef kNone = ~GroupRef{0};

  std::size_t count() const noexcept { return count_; }
  std::size_t memory_size() const noexcept { return memory_.size(); }

  // kNone if there is no group of that prefix.
  GroupRef find(const GroupArena& arena, ByteView prefix, std::uint64_t hash) const noexcept {
    if (bucket_count_ == 0) return kNone;
    for (std::size_t index = home_of(hash);; index = after(index)) {
      const Bucket& bucket = buckets_[index];
      for (unsigned left = bucket.matches(tag_of(hash)); left != 0; left &= left - 1) {
        const GroupRef ref = bucket.refs[static_cast<unsigned>(std::countr_zero(left))];
        if (has_prefix(arena.at(ref), prefix)) return ref;
      }
      if (bucket.passed == 0) return kNone;
    }
  }

  // Whether insert() has room for one more.
  bool is_full() const noexcept { return count_ + 1 > count_max(bucket_count_); }
  // Makes the table anew from the groups there are, with room for that many and some more. Throws
  // std::bad_alloc with nothing changed.
  void rebuild(const GroupArena& arena, std::size_t count);
  // The next size, when is_full().
  std::size_t grown_count() const noexcept { return count_ + count_ / 4 + kBucketCapacity; }

  void insert(std::uint64_t hash, GroupRef ref) noexcept;
  // `ref` is there.
  void erase(std::uint64_t hash, GroupRef ref) noexcept;
  void replace(std::uint64_t hash, GroupRef from, GroupRef to) noexcept;

 private:
  static constexpr unsigned kBucketCapacity = 12;

  struct Bucket {
    std::array<std::uint8_t, kBucketCapacity> tags;
    std::uint8_t count;
    // How many are behind this bucket that would have been put here if they had found room. From
    // 255 on nobody counts, and it stays.
    std::uint8_t passed;
    std::array<std::uint8_t, 2> unused;
    std::array<GroupRef, kBucketCapacity> refs;

    unsigned matches(std::uint8_t tag) const noexcept {
      unsigned mask = 0;
#if defined(__SSE2__)
      using Line = char __attribute__((vector_size(16)));
      Line line;
      std::memcpy(&line, this, sizeof line);
      const Line equal = line == static_cast<char>(tag);
      mask = static_cast<unsigned>(__builtin_ia32_pmovmskb128(equal));
#else
      for (unsigned i = 0; i < kBucketCapacity; ++i) mask |= (tags[i] == tag ? 1u : 0u) << i;
#endif
      return mask & ((1u << count) - 1);
    }
  };
  static_assert(sizeof(Bucket) == 64);

  // At seven eighths few groups are outside their bucket.
  static constexpr std::size_t count_max(std::size_t bucket_count) noexcept {
    return bucket_count * kBucketCapacity * 7 / 8;
  }
  std::size_t home_of(std::uint64_t hash) const noexcept {
    return multiply_high(hash, bucket_count_);
  }
  // The low byte has no part in the choice of the bucket.
  static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint8_t>(hash);
  }
  std::size_t after(std::size_t index) const noexcept {
    return index + 1 == bucket_count_ ? 0 : index + 1;
  }
  GroupRef& slot_of(std::uint64_t hash, GroupRef ref, std::size_t& bucket_index) noexcept;

  IndexMemory memory_;
  Bucket* buckets_ = nullptr;
  std::size_t bucket_count_ = 0;
  std::size_t count_ = 0;
};

}  // namespace varve::log
