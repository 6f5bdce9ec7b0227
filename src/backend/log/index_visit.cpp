#include <array>
#include <functional>

#include "backend/log/index.h"
#include "backend/log/index_parts.h"

namespace varve::log {
namespace {

bool starts_with(ByteView text, ByteView start) noexcept {
  return text.size() > start.size() && std::memcmp(text.data(), start.data(), start.size()) == 0;
}

// Puts the entries of groups that come in the order of their prefixes into the order of their keys.
//
// With "a", "b" and "ab" the group of the prefix "" comes first, but the group of "a" has to come
// in its middle. So a group stays open while prefixes come that start with its own. The open ones
// start with each other, hence one buffer has the prefixes of all.
class Visitor {
 public:
  using Visit = std::function<bool(ByteView key, const Location& location)>;

  explicit Visitor(const Visit& visit) : visit_(visit) {}

  // Its first entry is the first whose last byte is not below `tag`. All that are open must have
  // prefixes it starts with.
  void open(Group group, unsigned tag) {
    const ByteView prefix = group.prefix();
    std::memcpy(key_.data(), prefix.data(), prefix.size());
    open_[open_count_++] = {group, group.position_from(tag)};
  }

  // Visits what comes before the group and opens it. False: stop.
  bool advance(Group group) {
    const ByteView prefix = group.prefix();
    while (open_count_ > 0) {
      Open& last = open_[open_count_ - 1];
      const ByteView start = last.group.prefix();
      if (starts_with(prefix, start)) {
        const auto branch = std::to_integer<unsigned>(prefix[start.size()]);
        if (!visit_below(last, branch + 1)) return false;
        break;
      }
      if (!visit_below(last, kTagCount)) return false;
      --open_count_;
    }
    open(group, 0);
    return true;
  }

  void finish() {
    while (open_count_ > 0 && visit_below(open_[open_count_ - 1], kTagCount)) --open_count_;
  }

 private:
  struct Open {
    Group group;
    unsigned position = 0;
  };

  bool visit_below(Open& open, unsigned tag_end) {
    const Group group = open.group;
    const std::size_t prefix_size = group.prefix_size();
    for (; !group.at_end(open.position); open.position = group.next(open.position)) {
      const unsigned tag = group.tag_at(open.position);
      if (tag >= tag_end) return true;
      key_[prefix_size] = static_cast<std::byte>(tag);
      const Location location = load_place(group.place_at(open.position));
      if (!visit_(ByteView(key_.data(), prefix_size + 1), location)) return false;
    }
    return true;
  }

  const Visit& visit_;
  std::array<std::byte, kKeySizeMax> key_;
  std::array<Open, kKeySizeMax> open_;
  std::size_t open_count_ = 0;
};

}  // namespace

void Index::visit(ByteView from,
                  const std::function<bool(ByteView key, const Location& location)>& visit) const {
  Visitor visitor(visit);
  // Groups that come before `from` and yet have keys behind it are those whose prefix it starts
  // with.
  for (std::size_t size = 0; size < std::min(from.size(), kKeySizeMax); ++size) {
    if (parts_->group_counts[size] == 0) continue;
    const SplitKey split(from.first(size + 1));
    const GroupRef ref = parts_->find_group(split);
    if (ref == GroupTable::kNone) continue;
    // The key that is itself a start of `from` is below it.
    const unsigned passed = size + 1 < from.size() ? 1 : 0;
    visitor.open(parts_->arena.at(ref), std::to_integer<unsigned>(split.tag) + passed);
  }
  bool wanted = true;
  const auto advance = [&](GroupRef ref) {
    wanted = visitor.advance(parts_->arena.at(ref));
    return wanted;
  };
  parts_->order->for_each_from(from, std::ref(advance));
  if (wanted) visitor.finish();
}

}  // namespace varve::log
