// A group as it lies in memory: all keys of an index that agree but for their last byte.
//
//   u8 prefix size, u8 count - 1, the prefix, and then, by the number of entries,
//   listed, up to 32:    their last bytes, rising, and room for more; places in the same order
//   ranked, up to 208:   256 bits that say which last bytes there are, and how many are below each
//                        fourth of them; places in the same order, and room for more
//   direct, up to 256:   a place for each last byte; those without an entry say so
//
// How many entries have room follows from their count, so that nothing has to say it: a lone key
// of 12 bytes is 24 bytes here. A place is 10 bytes, little-endian: u16 slot, u32 offset, u32
// size. The two top bits of the size are free for marks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/log/index.h"
#include "base/endian.h"
#include "varve/bytes.h"

namespace varve::log {

inline constexpr std::size_t kKeySizeMax = 255;
inline constexpr std::size_t kPlaceSize = 10;
inline constexpr unsigned kTagCount = 256;

// The order of keys and of prefixes: byte by byte, the shorter first.
inline bool is_below(ByteView a, ByteView b) noexcept {
  const std::size_t size = std::min(a.size(), b.size());
  // Most often the first 8 bytes tell, which needs no call.
  if (size >= 8) {
    const auto head_a = load_be<std::uint64_t>(a.data());
    const auto head_b = load_be<std::uint64_t>(b.data());
    if (head_a != head_b) return head_a < head_b;
  }
  const int order = size == 0 ? 0 : std::memcmp(a.data(), b.data(), size);
  return order != 0 ? order < 0 : a.size() < b.size();
}

// Marks in the last byte of a place. It alone is written beside readers, so that everybody who
// may meet such a write reads and writes it atomically, and the rest of the place plainly.
inline constexpr std::uint8_t kVerifiedMark = 0x80;
inline constexpr std::uint8_t kAbsentMark = 0x40;
inline constexpr std::uint8_t kSizeMask = 0x3f;

inline std::atomic_ref<std::uint8_t> marks_of(const std::byte* place) noexcept {
  auto* const last =
      reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(place + kPlaceSize - 1));
  return std::atomic_ref<std::uint8_t>(*last);
}

inline bool is_absent(const std::byte* place) noexcept {
  return (marks_of(place).load(std::memory_order_relaxed) & kAbsentMark) != 0;
}

inline Location load_place(const std::byte* place) noexcept {
  constexpr std::uint32_t kTopByte = 1u << 24;
  constexpr std::uint32_t kThirdByte = 1u << 16;
  const std::uint8_t top = marks_of(place).load(std::memory_order_relaxed);
  return {.slot = load_le<std::uint16_t>(place),
          .offset_unit = load_le<std::uint32_t>(place + 2),
          .value_size = load_le<std::uint16_t>(place + 6) +
                        load_le<std::uint8_t>(place + 8) * kThirdByte +
                        (top & kSizeMask) * kTopByte,
          .verified = (top & kVerifiedMark) != 0};
}

// Only where no reader is near.
inline void store_place(std::byte* place, const Location& location) noexcept {
  constexpr std::uint32_t kVerified = 1u << 31;
  store_le<std::uint16_t>(place, location.slot);
  store_le<std::uint32_t>(place + 2, location.offset_unit);
  store_le<std::uint32_t>(place + 6, location.value_size | (location.verified ? kVerified : 0));
}

inline constexpr unsigned kListedCountMax = 32;
inline constexpr unsigned kRankedCountMax = 208;

// Steps of at most a quarter: what is kept free is paid for by every world.
inline constexpr auto kCapacities = [] {
  constexpr std::array<std::uint8_t, 30> kSteps = {1,  2,  3,  4,   5,   6,   7,   8,   10,  12,
                                                   14, 16, 20, 24,  28,  32,  40,  48,  56,  64,
                                                   72, 80, 96, 112, 128, 144, 160, 176, 192, 208};
  std::array<std::uint8_t, kRankedCountMax + 1> capacities{};
  std::size_t step = 0;
  for (unsigned count = 1; count <= kRankedCountMax; ++count) {
    if (count > kSteps[step]) ++step;
    capacities[count] = kSteps[step];
  }
  return capacities;
}();

// Of a processor nothing is asked that not every one of its kind can do.
constexpr unsigned bit_count(std::uint64_t word) noexcept {
  word -= word >> 1 & 0x5555'5555'5555'5555;
  word = (word & 0x3333'3333'3333'3333) + (word >> 2 & 0x3333'3333'3333'3333);
  word = (word + (word >> 4)) & 0x0f0f'0f0f'0f0f'0f0f;
  constexpr unsigned kTopByteShift = 56;
  return static_cast<unsigned>(word * 0x0101'0101'0101'0101 >> kTopByteShift);
}

// A handle, as cheap as the pointer it is.
class Group {
 public:
  Group() = default;
  explicit Group(std::byte* at) noexcept : at_(at) {}

  static constexpr std::size_t size_of(std::size_t prefix_size, unsigned count) noexcept {
    return 2 + prefix_size + places_offset(count) +
           (count > kRankedCountMax ? kTagCount : kCapacities[count]) * kPlaceSize;
  }

  std::size_t prefix_size() const noexcept { return std::to_integer<std::size_t>(at_[0]); }
  unsigned count() const noexcept { return std::to_integer<unsigned>(at_[1]) + 1; }
  ByteView prefix() const noexcept { return {at_ + 2, prefix_size()}; }
  std::size_t size() const noexcept { return size_of(prefix_size(), count()); }

  // The place of the key that ends in `tag`; null if there is none.
  std::byte* find(std::byte tag) const noexcept { return find(prefix_size(), tag); }
  // Where the size of the prefix is known, the place need not wait for it to be read.
  std::byte* find(std::size_t prefix_size, std::byte tag) const noexcept {
    std::byte* const entries = at_ + 2 + prefix_size;
    const unsigned count = this->count();
    if (count > kRankedCountMax) {
      std::byte* const place = entries + std::to_integer<std::size_t>(tag) * kPlaceSize;
      return is_absent(place) ? nullptr : place;
    }
    if (count == 1) return entries[0] == tag ? entries + 1 : nullptr;
    if (count > kListedCountMax) {
      const auto number = std::to_integer<unsigned>(tag);
      if (!has_bit(entries, number)) return nullptr;
      return entries + kRanksSize + rank(entries, number) * kPlaceSize;
    }
    return find_listed(entries, count, tag);
  }

  // Positions go through the entries in order: indexes where they are listed, else last bytes.
  unsigned position_from(unsigned tag) const noexcept;
  bool at_end(unsigned position) const noexcept {
    return position == (is_listed() ? count() : kTagCount);
  }
  unsigned next(unsigned position) const noexcept {
    return is_listed() ? position + 1 : position_from(position + 1);
  }
  unsigned tag_at(unsigned position) const noexcept {
    return is_listed() ? std::to_integer<unsigned>(entries()[position]) : position;
  }
  std::byte* place_at(unsigned position) const noexcept {
    return places() + (is_ranked() ? rank(entries(), position) : position) * kPlaceSize;
  }

  // Whether one more entry needs another block.
  bool is_full() const noexcept {
    const unsigned count = this->count();
    return count <= kRankedCountMax && kCapacities[count] == count;
  }
  // Makes a group of one key.
  void make(ByteView prefix, std::byte tag, const Location& location) noexcept;
  // Makes a group of entries whose places follow each other.
  void make(ByteView prefix, ByteView tags, ByteView places) noexcept;
  // Makes a group of what an image has for it.
  void make(ByteView image) noexcept;
  // Makes a copy of a group that is full, with one entry more.
  void make_grown(Group full, std::byte tag, const Location& location) noexcept;
  // Adds an entry that is not there, to a group that is not full.
  void insert(std::byte tag, const Location& location) noexcept;
  // Takes an entry out that is there and not the only one. The group may end earlier now.
  void erase(std::byte tag) noexcept;

 private:
  // The counts below each fourth, then the bits.
  static constexpr unsigned kWordBits = 64;
  static constexpr std::size_t kWordCount = kTagCount / kWordBits;
  static constexpr std::size_t kRanksSize = kWordCount + kTagCount / 8;

  static std::uint64_t word_of(const std::byte* entries, unsigned tag) noexcept {
    return load_le<std::uint64_t>(entries + kWordCount + tag / kWordBits * 8);
  }
  static bool has_bit(const std::byte* entries, unsigned tag) noexcept {
    return (word_of(entries, tag) >> tag % kWordBits & 1) != 0;
  }
  // How many entries have a last byte below.
  static unsigned rank(const std::byte* entries, unsigned tag) noexcept {
    const std::uint64_t below = (std::uint64_t{1} << tag % kWordBits) - 1;
    return std::to_integer<unsigned>(entries[tag / kWordBits]) +
           bit_count(word_of(entries, tag) & below);
  }
  static constexpr std::size_t places_offset(unsigned count) noexcept {
    if (count > kRankedCountMax) return 0;
    return count > kListedCountMax ? kRanksSize : kCapacities[count];
  }

  bool is_listed() const noexcept { return count() <= kListedCountMax; }
  bool is_direct() const noexcept { return count() > kRankedCountMax; }
  bool is_ranked() const noexcept { return !is_listed() && !is_direct(); }
  std::byte* entries() const noexcept { return at_ + 2 + prefix_size(); }
  std::byte* places() const noexcept { return entries() + places_offset(count()); }
  void set_count(unsigned count) noexcept { at_[1] = static_cast<std::byte>(count - 1); }
  // Apart, so that the other forms are found without a call.
  static std::byte* find_listed(std::byte* entries, unsigned count, std::byte tag) noexcept;
  void set_bit(unsigned tag, bool value) noexcept;
  void make_entries(ByteView tags, ByteView places) noexcept;

  std::byte* at_ = nullptr;
};

}  // namespace varve::log
