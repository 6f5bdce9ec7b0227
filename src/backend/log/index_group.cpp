#include "backend/log/index_group.h"

namespace varve::log {

unsigned Group::lower_bound(unsigned tag) const noexcept {
  const std::byte* const tags = entries();
  const std::byte* const end = tags + count();
  // 256 is past every last byte.
  if (tag >= kTagCount) return count();
  return static_cast<unsigned>(std::lower_bound(tags, end, static_cast<std::byte>(tag)) - tags);
}

unsigned Group::present_from(unsigned tag) const noexcept {
  const std::byte* const places = entries();
  while (tag < kTagCount && is_absent(places + tag * kPlaceSize)) ++tag;
  return tag;
}

void Group::make_head(ByteView prefix, unsigned count) noexcept {
  at_[0] = static_cast<std::byte>(prefix.size());
  set_count(count);
  std::copy(prefix.begin(), prefix.end(), at_ + 2);
  if (!is_direct()) return;
  std::memset(entries(), 0, kTagCount * kPlaceSize);
  for (unsigned tag = 0; tag < kTagCount; ++tag) {
    place_at(tag)[kPlaceSize - 1] = std::byte{kAbsentMark};
  }
}

void Group::make(ByteView prefix, std::byte tag, const Location& location) noexcept {
  make_head(prefix, 1);
  entries()[0] = tag;
  store_place(place_at(0), location);
}

void Group::make(ByteView prefix, ByteView tags, ByteView places) noexcept {
  make_head(prefix, static_cast<unsigned>(tags.size()));
  if (!is_direct()) {
    std::copy(tags.begin(), tags.end(), entries());
    std::copy(places.begin(), places.end(), place_at(0));
    return;
  }
  for (std::size_t i = 0; i < tags.size(); ++i) {
    std::memcpy(place_at(std::to_integer<unsigned>(tags[i])), places.data() + i * kPlaceSize,
                kPlaceSize);
  }
}

void Group::make_grown(Group full, std::byte tag, const Location& location) noexcept {
  const unsigned count = full.count();
  make_head(full.prefix(), count + 1);
  if (is_direct()) {
    for (unsigned i = 0; i < count; ++i) {
      std::memcpy(place_at(full.tag_at(i)), full.place_at(i), kPlaceSize);
    }
    store_place(place_at(std::to_integer<unsigned>(tag)), location);
    return;
  }
  const unsigned position = full.lower_bound(std::to_integer<unsigned>(tag));
  const std::byte* const tags = full.entries();
  std::copy(tags, tags + position, entries());
  entries()[position] = tag;
  std::copy(tags + position, tags + count, entries() + position + 1);
  std::copy(full.place_at(0), full.place_at(position), place_at(0));
  store_place(place_at(position), location);
  std::copy(full.place_at(position), full.place_at(count), place_at(position + 1));
}

void Group::insert(std::byte tag, const Location& location) noexcept {
  const unsigned count = this->count();
  if (is_direct()) {
    store_place(place_at(std::to_integer<unsigned>(tag)), location);
    set_count(count + 1);
    return;
  }
  const unsigned position = lower_bound(std::to_integer<unsigned>(tag));
  std::byte* const tags = entries();
  std::memmove(tags + position + 1, tags + position, count - position);
  tags[position] = tag;
  std::byte* const place = place_at(position);
  std::memmove(place + kPlaceSize, place, (count - position) * kPlaceSize);
  store_place(place, location);
  set_count(count + 1);
}

void Group::erase(std::byte tag) noexcept {
  const unsigned count = this->count();
  if (is_direct()) {
    std::byte* const place = place_at(std::to_integer<unsigned>(tag));
    place[kPlaceSize - 1] = std::byte{kAbsentMark};
    if (count - 1 > kPackedCountMax) {
      set_count(count - 1);
    } else {
      make_packed();
    }
    return;
  }
  const unsigned position = lower_bound(std::to_integer<unsigned>(tag));
  std::byte* const tags = entries();
  std::memmove(tags + position, tags + position + 1, count - position - 1);
  std::byte* const place = place_at(position);
  std::memmove(place, place + kPlaceSize, (count - position - 1) * kPlaceSize);
  std::byte* const from = places();
  set_count(count - 1);
  std::memmove(places(), from, (count - 1) * kPlaceSize);
}

void Group::make_packed() noexcept {
  std::array<std::byte, kPackedCountMax> tags;
  std::array<std::byte, kPackedCountMax * kPlaceSize> places;
  unsigned count = 0;
  for (unsigned tag = present_from(0); tag < kTagCount; tag = present_from(tag + 1)) {
    tags[count] = static_cast<std::byte>(tag);
    std::memcpy(places.data() + count * kPlaceSize, place_at(tag), kPlaceSize);
    ++count;
  }
  set_count(count);
  std::copy_n(tags.begin(), count, entries());
  std::copy_n(places.begin(), count * kPlaceSize, place_at(0));
}

}  // namespace varve::log
