#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "backend/log/index.h"
#include "backend/log/index_parts.h"
#include "backend/log/log_format.h"
#include "base/guarded.h"

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
    const std::byte* const from = group.place_at(i);
    std::memcpy(place, from, kPlaceSize - 1);
    // The marks may change meanwhile. What was verified is no longer known to be so when the image
    // is read.
    place[kPlaceSize - 1] =
        static_cast<std::byte>(marks_of(from).load(std::memory_order_relaxed) & kSizeMask);
    place += kPlaceSize;
  }
}

struct ImageGroup {
  ByteView whole;
  ByteView prefix;
  ByteView tags;
  ByteView places;
};

bool rises(ByteView tags) noexcept {
  return std::adjacent_find(tags.begin(), tags.end(), std::greater_equal<>()) == tags.end();
}

// What is wrong with a group that is there whole, or null.
const char* fault_of(const ImageGroup& group, std::size_t slot_count) noexcept {
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

void add_uses(const ImageGroup& group, std::vector<SlotUse>& uses) noexcept {
  const std::size_t key_size = group.prefix.size() + 1;
  for (std::size_t i = 0; i < group.places.size(); i += kPlaceSize) {
    const std::byte* const place = group.places.data() + i;
    const auto value_size = load_le<std::uint32_t>(place + 6);
    SlotUse& use = uses[load_le<std::uint16_t>(place)];
    ++use.count;
    use.byte_count += key_size + value_size;
    use.cost += record_cost(key_size, value_size);
  }
}

// Reads one group after the other. There may be millions, so that nothing is made for each but
// views.
class ImageReader {
 public:
  ImageReader(ByteView image, std::size_t slot_count) : rest_(image), slot_count_(slot_count) {}

  bool at_end() const noexcept { return rest_.empty(); }

  // The next group, or what is wrong with it.
  const char* next(ImageGroup& group) noexcept {
    if (rest_.size() < 2) return "no whole head";
    const auto prefix_size = std::to_integer<std::size_t>(rest_[0]);
    const std::size_t count = std::to_integer<std::size_t>(rest_[1]) + 1;
    const std::size_t size = 2 + prefix_size + count * (1 + kPlaceSize);
    if (prefix_size >= kKeySizeMax) return "a prefix of 255 bytes";
    if (rest_.size() < size) return "fewer bytes than it needs";
    const ByteView previous = group.prefix;
    group = {.whole = rest_.first(size),
             .prefix = rest_.subspan(2, prefix_size),
             .tags = rest_.subspan(2 + prefix_size, count),
             .places = rest_.subspan(2 + prefix_size + count, count * kPlaceSize)};
    if (!is_first_ && !is_below(previous, group.prefix)) return "a prefix that does not rise";
    if (const char* const fault = fault_of(group, slot_count_); fault != nullptr) return fault;
    is_first_ = false;
    rest_ = rest_.subspan(size);
    return nullptr;
  }

  // Of the group that is next.
  std::size_t offset_in(ByteView image) const noexcept { return image.size() - rest_.size(); }

 private:
  ByteView rest_;
  std::size_t slot_count_;
  bool is_first_ = true;
};

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

Result<Index> Index::from_image(ByteView image, std::size_t slot_count,
                                std::vector<SlotUse>* uses) {
  return or_out_of_memory([&]() -> Result<Index> {
    if (uses != nullptr) uses->resize(slot_count);
    Index index;
    Parts& parts = *index.parts_;
    ImageReader reader(image, slot_count);
    ImageGroup group;
    std::size_t group_count = 0;
    for (; !reader.at_end(); ++group_count) {
      if (const char* const fault = reader.next(group); fault != nullptr) {
        return corruption(fmt::format("index image: the group at offset {} of {} has {}",
                                      reader.offset_in(image), image.size(), fault));
      }
      if (uses != nullptr) add_uses(group, *uses);
      const auto count = static_cast<unsigned>(group.tags.size());
      const GroupRef ref = parts.arena.allocate(Group::size_of(group.prefix.size(), count));
      parts.arena.at(ref).make(group.whole);
      ++parts.group_counts[group.prefix.size()];
      parts.count += count;
    }
    parts.table.rebuild(parts.arena, group_count);
    return index;
  });
}

}  // namespace varve::log
