#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "backend/log/index.h"
#include "backend/log/index_parts.h"
#include "base/byte_reader.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve::log {
namespace {

void append_group(Group group, ByteWriter& out) {
  const unsigned count = group.count();
  const ByteView prefix = group.prefix();
  const auto to = out.extend(2 + prefix.size() + count * (1 + kPlaceSize));
  if (to.empty()) return;
  to[0] = static_cast<std::byte>(prefix.size());
  to[1] = static_cast<std::byte>(count - 1);
  std::copy(prefix.begin(), prefix.end(), to.begin() + 2);
  std::byte* tag = to.data() + 2 + prefix.size();
  std::byte* place = tag + count;
  for (unsigned i = group.position_from(0); !group.at_end(i); i = group.next(i)) {
    *tag++ = static_cast<std::byte>(group.tag_at(i));
    std::memcpy(place, group.place_at(i), kPlaceSize);
    // What was verified is no longer known to be so when the image is read.
    place[kPlaceSize - 1] &= std::byte{kSizeMask};
    place += kPlaceSize;
  }
}

struct ImageGroup {
  ByteView prefix;
  ByteView tags;
  ByteView places;
};

bool rises(ByteView tags) noexcept {
  return std::adjacent_find(tags.begin(), tags.end(), std::greater_equal<>()) == tags.end();
}

// What is wrong with it, or null.
const char* fault_of(const ImageGroup& group, std::size_t slot_count) noexcept {
  if (group.prefix.size() >= kKeySizeMax) return "a prefix of 255 bytes";
  if (!rises(group.tags)) return "last bytes that do not rise";
  bool slots_exist = true;
  bool sizes_fit = true;
  for (std::size_t i = 0; i < group.places.size(); i += kPlaceSize) {
    const std::byte* const place = group.places.data() + i;
    slots_exist &= load_le<std::uint16_t>(place) < slot_count;
    sizes_fit &= load_le<std::uint32_t>(place + 6) <= Location::kValueSizeMax;
  }
  if (!slots_exist) return "a slot that is not there";
  if (!sizes_fit) return "a size above the limit";
  return nullptr;
}

Result<ImageGroup> read_group(ByteReader& reader, std::size_t slot_count) {
  const std::size_t start = reader.offset();
  const std::size_t prefix_size = reader.u8();
  const std::size_t count = std::size_t{reader.u8()} + 1;
  const ImageGroup group{.prefix = reader.bytes(prefix_size),
                         .tags = reader.bytes(count),
                         .places = reader.bytes(count * kPlaceSize)};
  if (!reader.ok()) return reader.error("index image");
  if (const char* const fault = fault_of(group, slot_count); fault != nullptr) [[unlikely]]
    return corruption(fmt::format("index image: {} in the group at offset {}", fault, start));
  return group;
}

}  // namespace

std::optional<std::string> Index::append_image(ByteView from, std::size_t size_max,
                                               ByteWriter& out) const {
  const std::size_t start = out.size();
  std::optional<std::string> rest;
  const auto append = [&](GroupRef ref) {
    const Group group = parts_->arena.at(ref);
    if (out.size() - start >= size_max && out.size() > start) {
      // The first key the group could have: wherever it goes meanwhile, nothing before it is
      // written again.
      rest = std::string(as_text(group.prefix())) + '\0';
      return false;
    }
    append_group(group, out);
    return true;
  };
  const ByteView prefix = from.empty() ? from : from.first(from.size() - 1);
  parts_->order->for_each_from(prefix, std::ref(append));
  return rest;
}

Result<Index> Index::from_image(ByteView image, std::size_t slot_count) {
  return or_out_of_memory([&]() -> Result<Index> {
    Index index;
    Parts& parts = *index.parts_;
    ByteReader reader(image);
    std::size_t group_count = 0;
    ByteView previous;
    while (reader.remaining() > 0) {
      const std::size_t start = reader.offset();
      VARVE_ASSIGN(const ImageGroup group, read_group(reader, slot_count));
      if (group_count > 0 && !is_below(previous, group.prefix)) {
        return corruption(fmt::format(
            "index image: a prefix that does not rise in the group at offset {}", start));
      }
      const auto count = static_cast<unsigned>(group.tags.size());
      const GroupRef ref = parts.arena.allocate(Group::size_of(group.prefix.size(), count));
      parts.arena.at(ref).make(group.prefix, group.tags, group.places);
      ++parts.group_counts[group.prefix.size()];
      parts.count += count;
      ++group_count;
      previous = group.prefix;
    }
    parts.table.rebuild(parts.arena, group_count);
    return index;
  });
}

}  // namespace varve::log
