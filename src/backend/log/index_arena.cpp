#include "backend/log/index_arena.h"

#include <algorithm>
#include <new>

namespace varve::log {
namespace {

constexpr std::size_t kBlockSize = GroupArena::kBlockUnits * GroupArena::kUnit;
constexpr std::uint32_t kSlabBlockCountMax = IndexMemory::kHugePageSize / kBlockSize;
constexpr std::size_t kBlockCountMax = std::size_t{1} << (32 - GroupArena::kBlockShift);

// Links of a free part, behind its mark and its size.
constexpr std::size_t kNextOffset = 4;
constexpr std::size_t kPreviousOffset = 8;

}  // namespace

GroupArena::GroupArena() noexcept { lists_.fill(kNone); }

std::size_t GroupArena::memory_size() const noexcept {
  return slabs_size_ + blocks_.capacity() * (sizeof(Block) + sizeof(std::byte*)) +
         slabs_.capacity() * sizeof(Slab);
}

GroupRef GroupArena::allocate(std::size_t size) {
  const std::uint32_t units = units_of(size);
  GroupRef ref = take_free(units);
  if (ref == kNone) {
    if (current_ == kNone || kBlockUnits - blocks_[current_].used < units) use_new_block();
    Block& block = blocks_[current_];
    ref = (current_ << kBlockShift) + block.used;
    block.used += units;
    used_units_ += units;
  }
  blocks_[ref >> kBlockShift].live += units;
  live_units_ += units;
  return ref;
}

void GroupArena::release(GroupRef ref, std::size_t size) noexcept {
  const std::uint32_t units = units_of(size);
  const std::uint32_t number = ref >> kBlockShift;
  blocks_[number].live -= units;
  live_units_ -= units;
  add_free(ref, units);
  if (blocks_[number].live != 0 || number == current_) return;
  unlink_all(number);
  drop(number);
}

void GroupArena::shrink(GroupRef ref, std::size_t size_before, std::size_t size) noexcept {
  const std::uint32_t units = units_of(size);
  const std::uint32_t cut_units = units_of(size_before) - units;
  if (cut_units == 0) return;
  blocks_[ref >> kBlockShift].live -= cut_units;
  live_units_ -= cut_units;
  add_free(ref + units, cut_units);
}

// The smallest part that is large enough. What it has too much stays free.
GroupRef GroupArena::take_free(std::uint32_t units) noexcept {
  if (listed_count_ == 0) return kNone;
  std::size_t word = units / 64;
  std::uint64_t filled = filled_[word] & ~std::uint64_t{0} << units % 64;
  while (filled == 0) {
    if (++word == filled_.size()) return kNone;
    filled = filled_[word];
  }
  const GroupRef ref = lists_[word * 64 + static_cast<std::size_t>(std::countr_zero(filled))];
  const std::uint32_t free_units = free_units_at(ref);
  unlink(ref);
  if (free_units > units) add_free(ref + units, free_units - units);
  return ref;
}

void GroupArena::add_free(GroupRef ref, std::uint32_t units) noexcept {
  // What lies behind is joined; what lies before is found when it is freed, or when the
  // block is emptied.
  const std::uint32_t end = (ref & (kBlockUnits - 1)) + units;
  const GroupRef behind = ref + units;
  if (end < blocks_[ref >> kBlockShift].used && *bytes_at(behind) == kFreeMark) {
    units += free_units_at(behind);
    unlink(behind);
  }
  link(ref, units);
}

void GroupArena::link(GroupRef ref, std::uint32_t units) noexcept {
  std::byte* const bytes = bytes_at(ref);
  bytes[0] = kFreeMark;
  store_le<std::uint16_t>(bytes + 2, static_cast<std::uint16_t>(units));
  if (units < kListedUnitsMin) return;
  ++listed_count_;
  const std::size_t list = std::min(units, kListCount - 1);
  const GroupRef next = lists_[list];
  store_le<GroupRef>(bytes + kNextOffset, next);
  store_le<GroupRef>(bytes + kPreviousOffset, kNone);
  if (next != kNone) store_le<GroupRef>(bytes_at(next) + kPreviousOffset, ref);
  lists_[list] = ref;
  filled_[list / 64] |= std::uint64_t{1} << list % 64;
}

void GroupArena::unlink(GroupRef ref) noexcept {
  const std::uint32_t units = free_units_at(ref);
  if (units < kListedUnitsMin) return;
  --listed_count_;
  const auto next = load_le<GroupRef>(bytes_at(ref) + kNextOffset);
  const auto previous = load_le<GroupRef>(bytes_at(ref) + kPreviousOffset);
  if (next != kNone) store_le<GroupRef>(bytes_at(next) + kPreviousOffset, previous);
  if (previous != kNone) {
    store_le<GroupRef>(bytes_at(previous) + kNextOffset, next);
    return;
  }
  const std::size_t list = std::min(units, kListCount - 1);
  lists_[list] = next;
  if (next == kNone) filled_[list / 64] &= ~(std::uint64_t{1} << list % 64);
}

void GroupArena::unlink_all(std::uint32_t number) noexcept {
  for_each_in(number, [&](GroupRef ref, std::uint32_t, bool is_free) {
    if (is_free) unlink(ref);
  });
}

// The block holds nothing that anybody refers to.
void GroupArena::drop(std::uint32_t number) noexcept {
  Block& block = blocks_[number];
  used_units_ -= block.used;
  live_units_ -= block.live;
  block.used = 0;
  block.live = 0;
  block.next = free_block_;
  free_block_ = number;
  --block_in_use_count_;
  Slab& slab = slabs_[block.slab];
  if (++slab.free_count == slab.block_count) drop_slab(block.slab);
}

void GroupArena::drop_slab(std::uint32_t slab) noexcept {
  std::uint32_t kept = kNone;
  for (std::uint32_t number = free_block_; number != kNone;) {
    Block& block = blocks_[number];
    const std::uint32_t next = block.next;
    std::uint32_t& list = block.slab == slab ? free_number_ : kept;
    block.next = list;
    list = number;
    number = next;
  }
  free_block_ = kept;
  slabs_size_ -= slabs_[slab].memory.size();
  slabs_[slab] = {};
}

// Takes all memory before anything refers to it.
void GroupArena::add_slab() {
  const std::uint32_t block_count = std::clamp(block_in_use_count_ / 4, 1u, kSlabBlockCountMax);
  std::uint32_t slab = 0;
  while (slab < slabs_.size() && slabs_[slab].block_count != 0) ++slab;
  if (slab == slabs_.size()) slabs_.emplace_back();
  if (blocks_.size() + block_count > kBlockCountMax) throw std::bad_alloc();
  const std::size_t capacity = blocks_.size() + block_count;
  if (capacity > blocks_.capacity()) blocks_.reserve(capacity + capacity / 2);
  bytes_.reserve(blocks_.capacity());
  slabs_[slab] = {IndexMemory(block_count * kBlockSize), block_count, block_count};
  slabs_size_ += slabs_[slab].memory.size();

  // There is no other one with bytes, or nobody would have asked.
  std::uint32_t* end = &free_block_;
  for (std::uint32_t i = 0; i < block_count; ++i) {
    std::uint32_t number = free_number_;
    if (number != kNone) {
      free_number_ = blocks_[number].next;
    } else {
      number = static_cast<std::uint32_t>(blocks_.size());
      blocks_.emplace_back();
      bytes_.emplace_back();
    }
    bytes_[number] = slabs_[slab].memory.data() + i * kBlockSize;
    Block& block = blocks_[number];
    block.slab = slab;
    *end = number;
    end = &block.next;
  }
  *end = kNone;
}

void GroupArena::use_new_block() {
  if (free_block_ == kNone) add_slab();
  const std::uint32_t number = free_block_;
  free_block_ = blocks_[number].next;
  --slabs_[blocks_[number].slab].free_count;
  ++block_in_use_count_;
  if (current_ != kNone) close_current();
  current_ = number;
}

void GroupArena::close_current() noexcept {
  Block& block = blocks_[current_];
  const std::uint32_t rest = kBlockUnits - block.used;
  if (rest == 0) return;
  const GroupRef ref = (current_ << kBlockShift) + block.used;
  block.used = kBlockUnits;
  used_units_ += rest;
  link(ref, rest);
}

// Makes sure that use_new_block() cannot fail once.
bool GroupArena::prepare_block() noexcept {
  if (free_block_ != kNone) return true;
  try {
    add_slab();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// The copy of one block's groups needs one new block at most: is_untidy() means that a fifth of
// the emptiest one is free at least.
GroupRef GroupArena::copy(GroupRef from) noexcept {
  const std::size_t size = at(from).size();
  const GroupRef to = allocate(size);
  std::memcpy(bytes_at(to), bytes_at(from), size);
  return to;
}

std::uint32_t GroupArena::emptiest_block() const noexcept {
  std::uint32_t emptiest = kNone;
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (blocks_[number].used == 0 || number == current_) continue;
    if (emptiest == kNone || blocks_[number].live < blocks_[emptiest].live) emptiest = number;
  }
  return emptiest;
}

}  // namespace varve::log
