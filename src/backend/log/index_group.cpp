#include "backend/log/index_group.h"

#include <bit>

namespace varve::log {
namespace {

// All entries of a group, listed: what any form can be made of.
struct Listed {
  unsigned count = 0;
  std::array<std::byte, kTagCount> tags;
  std::array<std::byte, kTagCount * kPlaceSize> places;

  explicit Listed(Group group) noexcept {
    for (unsigned i = group.position_from(0); !group.at_end(i); i = group.next(i)) {
      tags[count] = static_cast<std::byte>(group.tag_at(i));
      std::memcpy(place(count), group.place_at(i), kPlaceSize);
      ++count;
    }
  }

  std::byte* place(unsigned index) noexcept { return places.data() + index * kPlaceSize; }
  ByteView tags_view() const noexcept { return ByteView(tags).first(count); }
  ByteView places_view() const noexcept { return ByteView(places).first(count * kPlaceSize); }

  // Where it is, or would be.
  unsigned position_of(std::byte tag) const noexcept {
    return static_cast<unsigned>(std::lower_bound(tags.begin(), tags.begin() + count, tag) -
                                 tags.begin());
  }
  void insert(std::byte tag, const Location& location) noexcept {
    const unsigned at = position_of(tag);
    std::memmove(tags.data() + at + 1, tags.data() + at, count - at);
    std::memmove(place(at + 1), place(at), (count - at) * kPlaceSize);
    tags[at] = tag;
    store_place(place(at), location);
    ++count;
  }
  void erase(std::byte tag) noexcept {
    const unsigned at = position_of(tag);
    --count;
    std::memmove(tags.data() + at, tags.data() + at + 1, count - at);
    std::memmove(place(at), place(at + 1), (count - at) * kPlaceSize);
  }
};

}  // namespace

std::byte* Group::find_listed(std::byte* entries, unsigned count, std::byte tag) noexcept {
  const void* const found = std::memchr(entries, std::to_integer<int>(tag), count);
  if (found == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(static_cast<const std::byte*>(found) - entries);
  return entries + kCapacities[count] + index * kPlaceSize;
}

unsigned Group::position_from(unsigned tag) const noexcept {
  const std::byte* const entries = this->entries();
  if (is_listed()) {
    // 256 is above every last byte.
    if (tag >= kTagCount) return count();
    const std::byte* const end = entries + count();
    return static_cast<unsigned>(std::lower_bound(entries, end, static_cast<std::byte>(tag)) -
                                 entries);
  }
  if (is_direct()) {
    while (tag < kTagCount && is_absent(entries + tag * kPlaceSize)) ++tag;
    return tag;
  }
  while (tag < kTagCount) {
    const std::uint64_t rest = word_of(entries, tag) >> tag % kWordBits;
    if (rest != 0) return tag + static_cast<unsigned>(std::countr_zero(rest));
    tag += kWordBits - tag % kWordBits;
  }
  return kTagCount;
}

void Group::make(ByteView prefix, std::byte tag, const Location& location) noexcept {
  at_[0] = static_cast<std::byte>(prefix.size());
  set_count(1);
  std::copy(prefix.begin(), prefix.end(), at_ + 2);
  entries()[0] = tag;
  store_place(places(), location);
}

void Group::make(ByteView prefix, ByteView tags, ByteView places) noexcept {
  at_[0] = static_cast<std::byte>(prefix.size());
  std::copy(prefix.begin(), prefix.end(), at_ + 2);
  make_entries(tags, places);
}

void Group::make(ByteView image) noexcept {
  const auto prefix_size = std::to_integer<std::size_t>(image[0]);
  const unsigned count = std::to_integer<unsigned>(image[1]) + 1;
  if (image.size() == size_of(prefix_size, count) && count <= kListedCountMax) {
    // An image lists entries as memory does if it has no room for more.
    std::memcpy(at_, image.data(), image.size());
    return;
  }
  const ByteView entries = image.subspan(2 + prefix_size);
  make(image.subspan(2, prefix_size), entries.first(count), entries.subspan(count));
}

void Group::make_entries(ByteView tags, ByteView places) noexcept {
  set_count(static_cast<unsigned>(tags.size()));
  if (is_direct()) {
    for (unsigned tag = 0; tag < kTagCount; ++tag) {
      store_place(place_at(tag), {});
      place_at(tag)[kPlaceSize - 1] = std::byte{kAbsentMark};
    }
    for (std::size_t i = 0; i < tags.size(); ++i) {
      std::memcpy(place_at(std::to_integer<unsigned>(tags[i])), places.data() + i * kPlaceSize,
                  kPlaceSize);
    }
    return;
  }
  if (is_listed()) {
    std::copy(tags.begin(), tags.end(), entries());
  } else {
    std::fill_n(entries(), kRanksSize, std::byte{0});
    for (const std::byte tag : tags) set_bit(std::to_integer<unsigned>(tag), true);
  }
  std::copy(places.begin(), places.end(), this->places());
}

void Group::make_grown(Group full, std::byte tag, const Location& location) noexcept {
  Listed listed(full);
  listed.insert(tag, location);
  make(full.prefix(), listed.tags_view(), listed.places_view());
}

void Group::insert(std::byte tag, const Location& location) noexcept {
  const auto number = std::to_integer<unsigned>(tag);
  const unsigned count = this->count();
  if (is_direct()) {
    store_place(place_at(number), location);
    set_count(count + 1);
    return;
  }
  const unsigned at = is_ranked() ? rank(entries(), number) : position_from(number);
  std::byte* const place = places() + at * kPlaceSize;
  std::memmove(place + kPlaceSize, place, (count - at) * kPlaceSize);
  store_place(place, location);
  if (is_ranked()) {
    set_bit(number, true);
  } else {
    std::byte* const tags = entries();
    std::memmove(tags + at + 1, tags + at, count - at);
    tags[at] = tag;
  }
  set_count(count + 1);
}

void Group::erase(std::byte tag) noexcept {
  const auto number = std::to_integer<unsigned>(tag);
  const unsigned count = this->count() - 1;
  if (count == kRankedCountMax || places_offset(count) != places_offset(count + 1)) {
    Listed listed(*this);
    listed.erase(tag);
    make_entries(listed.tags_view(), listed.places_view());
    return;
  }
  if (is_direct()) {
    place_at(number)[kPlaceSize - 1] = std::byte{kAbsentMark};
    set_count(count);
    return;
  }
  const unsigned at = is_ranked() ? rank(entries(), number) : position_from(number);
  std::byte* const place = places() + at * kPlaceSize;
  std::memmove(place, place + kPlaceSize, (count - at) * kPlaceSize);
  if (is_ranked()) {
    set_bit(number, false);
  } else {
    std::byte* const tags = entries();
    std::memmove(tags + at, tags + at + 1, count - at);
  }
  set_count(count);
}

void Group::set_bit(unsigned tag, bool value) noexcept {
  std::byte* const entries = this->entries();
  const std::uint64_t bit = std::uint64_t{1} << tag % kWordBits;
  const std::uint64_t word = word_of(entries, tag);
  store_le<std::uint64_t>(entries + kWordCount + tag / kWordBits * 8,
                          value ? word | bit : word & ~bit);
  for (std::size_t i = tag / kWordBits + 1; i < kWordCount; ++i) {
    entries[i] = static_cast<std::byte>(std::to_integer<int>(entries[i]) + (value ? 1 : -1));
  }
}

}  // namespace varve::log
