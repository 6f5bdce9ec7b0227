#include "backend/log/index_arena.h"

#include <algorithm>
#include <new>

namespace varve::log {
namespace {

constexpr std::size_t kBlockSize = GroupArena::kBlockUnits * GroupArena::kUnit;
constexpr std::size_t kBlockCountMax = std::size_t{1} << (32 - GroupArena::kBlockShift);

// Links of a free part, behind its mark and its size.
constexpr std::size_t kNextOffset = 4;
constexpr std::size_t kPreviousOffset = 8;

}  // namespace

GroupArena::GroupArena() noexcept { lists_.fill(kNone); }

std::size_t GroupArena::memory_size() const noexcept {
  const std::size_t block_count = blocks_.size() - vacant_count_ + (spare_ != nullptr ? 1 : 0);
  return block_count * kBlockSize + blocks_.capacity() * sizeof(Block);
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
  if (spare_ == nullptr) spare_ = std::move(block.bytes);
  block = {};
  ++vacant_count_;
}

void GroupArena::use_new_block() {
  if (vacant_count_ == 0 && blocks_.size() == kBlockCountMax) throw std::bad_alloc();
  if (spare_ == nullptr) spare_.reset(new std::byte[kBlockSize]);
  std::uint32_t number = 0;
  if (vacant_count_ == 0) {
    number = static_cast<std::uint32_t>(blocks_.size());
    blocks_.emplace_back();
  } else {
    while (blocks_[number].bytes != nullptr) ++number;
    --vacant_count_;
  }
  blocks_[number].bytes = std::move(spare_);
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
  if (spare_ == nullptr) spare_.reset(new (std::nothrow) std::byte[kBlockSize]);
  if (spare_ == nullptr) return false;
  if (vacant_count_ != 0 || blocks_.size() < blocks_.capacity()) return true;
  try {
    blocks_.reserve(blocks_.size() * 2);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return blocks_.size() < kBlockCountMax;
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
    if (blocks_[number].bytes == nullptr || number == current_) continue;
    if (emptiest == kNone || blocks_[number].live < blocks_[emptiest].live) emptiest = number;
  }
  return emptiest;
}

}  // namespace varve::log
